package standalone

import (
	"io"
	"log/slog"
	"net"
	"os"
	"time"
)

// Options configure [Run]. Only Files is required.
type Options struct {
	Files []string // SLO files and folders
	Data  string   // folder of everything that is kept; default ./agentslo-data

	Listen   string // host:port of page and Prometheus API; default localhost:9500
	OTLPGRPC string // host:port of OTLP over gRPC; default localhost:4317
	OTLPHTTP string // host:port of OTLP over HTTP; default localhost:4318

	Alertmanager string // base URL; "": alerts are only shown
	TraceURL     string // of a run in a trace viewer, with {trace_id}; "": ids are shown without a link

	// ScrapeInterval is the time between two collections of the counters;
	// default 5s. EvalInterval is the time between two evaluations of the
	// rules; default 15s. Demos and tests shorten both.
	ScrapeInterval, EvalInterval time.Duration

	Log     io.Writer // talk; default os.Stderr
	Verbose bool      // more talk
	Version string    // of the program

	// Ready, if set, is called once everything runs, with the addresses that
	// were really taken: a port of 0 in an option is any free one.
	Ready func(Addresses)
}

// Addresses are where a running process is reached.
type Addresses struct {
	Page string // URL of the page; also the base URL of the Prometheus API
	GRPC string // host:port of OTLP over gRPC
	HTTP string // URL of OTLP over HTTP
}

func (o Options) withDefaults() Options {
	defaults := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	defaults(&o.Data, "agentslo-data")
	defaults(&o.Listen, "localhost:9500")
	defaults(&o.OTLPGRPC, "localhost:4317")
	defaults(&o.OTLPHTTP, "localhost:4318")
	defaults(&o.Version, "dev")
	if o.ScrapeInterval <= 0 {
		o.ScrapeInterval = 5 * time.Second
	}
	if o.EvalInterval <= 0 {
		o.EvalInterval = 15 * time.Second
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	return o
}

func (o Options) logger() *slog.Logger {
	level := slog.LevelWarn
	if o.Verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
			}
			return a
		},
	}))
}

// exposed says whether an address is reached from other machines.
func exposed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}
