package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Prometheus is the part of the Prometheus HTTP API that budgets are read
// through; promv1.API implements it.
type Prometheus interface {
	Query(ctx context.Context, query string, at time.Time, opts ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error)
	QueryRange(ctx context.Context, query string, r promv1.Range, opts ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error)
	Runtimeinfo(ctx context.Context) (promv1.RuntimeinfoResult, error)
}

// Dial returns the API at a base URL such as http://localhost:9090 or
// https://user:secret@host/prefix. Headers are sent with every request, such
// as X-Scope-OrgID for a tenant of Mimir. Nothing is sent yet; an error means
// that the URL is unusable.
func Dial(address string, headers http.Header) (Prometheus, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is no base URL of a Prometheus server; write it like http://localhost:9090", redact(address))
	}
	client, err := api.NewClient(api.Config{Address: address, RoundTripper: withHeaders{headers, api.DefaultRoundTripper}})
	if err != nil {
		return nil, err
	}
	return promv1.NewAPI(client), nil
}

func redact(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return address
}

type withHeaders struct {
	headers http.Header
	next    http.RoundTripper
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(w.headers) > 0 {
		r = r.Clone(r.Context())
		for name, values := range w.headers {
			r.Header[name] = values
		}
	}
	return w.next.RoundTrip(r)
}

// readError says in one line why the counters could not be read and what to do.
func readError(err error) error {
	var refused *net.OpError
	var lookup *net.DNSError
	var answered *promv1.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("Prometheus did not answer in time; try a longer --timeout: %w", errTimeout)
	case errors.As(err, &lookup):
		return fmt.Errorf("Prometheus cannot be reached: no address for host %q", lookup.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		address := ""
		if errors.As(err, &refused) && refused.Addr != nil {
			address = " at " + refused.Addr.String()
		}
		return fmt.Errorf("Prometheus cannot be reached%s: connection refused; is it running, and is --prometheus right?", address)
	case errors.As(err, &answered):
		switch answered.Type {
		case promv1.ErrBadResponse:
			return fmt.Errorf("the server does not answer like the Prometheus API; is --prometheus right?: %s", firstLine(answered.Msg))
		case promv1.ErrServer, promv1.ErrClient:
			detail := strings.TrimSpace(answered.Detail)
			if strings.HasPrefix(detail, "<") {
				detail = "" // a proxy's page
			}
			return fmt.Errorf("Prometheus answered with an error: %s", firstLine(answered.Msg+": "+detail))
		}
		return fmt.Errorf("Prometheus answered with an error: %s: %s", answered.Type, firstLine(answered.Msg))
	}
	return fmt.Errorf("Prometheus cannot be read: %w", err)
}

var errTimeout = errors.New("deadline exceeded")

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.TrimRight(s, ": ")
}
