package standalone

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Flags of `sloctl up` that name an address; messages name them.
const (
	flagListen = "--listen"
	flagGRPC   = "--otlp-grpc"
	flagHTTP   = "--otlp-http"
)

// listen takes an address. Its error says which flag to change.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %s is in use by another program: stop it, or choose another address with %s (port 0 takes a free one)", flag, address, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %s: not allowed to listen there: choose a port above 1023 with %s", flag, address, flag)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, fmt.Errorf("%s %s: cannot listen there: %w", flag, address, err)
}

// receiverPorts checks that the receiver's addresses are free and fills in
// ports of 0. The Collector opens them itself, a moment later.
func receiverPorts(o *Options) error {
	grpc, err := listen(flagGRPC, o.OTLPGRPC)
	if err != nil {
		return err
	}
	defer func() { _ = grpc.Close() }()
	http, err := listen(flagHTTP, o.OTLPHTTP)
	if err != nil {
		if o.OTLPHTTP == o.OTLPGRPC {
			return fmt.Errorf("%s and %s are both %s: give each its own address", flagGRPC, flagHTTP, o.OTLPHTTP)
		}
		return err
	}
	defer func() { _ = http.Close() }()
	o.OTLPGRPC = taken(o.OTLPGRPC, grpc)
	o.OTLPHTTP = taken(o.OTLPHTTP, http)
	return nil
}

// taken is the address with the port that was really taken.
func taken(address string, l net.Listener) string {
	host, _, _ := net.SplitHostPort(address)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(host, port)
}

// url is how a browser on this machine reaches an address.
func url(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
