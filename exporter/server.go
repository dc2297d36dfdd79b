package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// server serves /metrics. The zero value serves nothing.
type server struct {
	http    *http.Server
	address net.Addr
	serving sync.WaitGroup
}

// maxScrapes is how many scrapes may be under way at once.
const maxScrapes = 10

func (s *server) start(ctx context.Context, config *Config, host component.Host, settings component.TelemetrySettings, c prometheus.Collector) error {
	endpoint := config.ServerConfig.NetAddr.Endpoint
	if endpoint == "" {
		return nil
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// One series that cannot be shown must not hide the others.
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: scrapeLog{settings.Logger},
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes,
	}))
	listener, err := config.ServerConfig.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("cannot serve /metrics on %s: %w; is another Collector running? Set endpoint to a free port", endpoint, err)
	}
	s.http, err = config.ServerConfig.ToServer(ctx, host.GetExtensions(), settings, mux)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.address = listener.Addr()
	serving := s.http // a shutdown may come before the goroutine does
	s.serving.Go(func() {
		if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	settings.Logger.Info("serving metrics", zap.Stringer("address", s.address), zap.String("path", "/metrics"))
	return nil
}

// shutdown ends scrapes that are under way by ctx at the latest.
func (s *server) shutdown(ctx context.Context) error {
	if s.http == nil {
		return nil
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.http = nil
	s.serving.Wait()
	return err
}

type scrapeLog struct{ *zap.Logger }

func (l scrapeLog) Println(v ...any) { l.Error("scrape", zap.String("error", fmt.Sprint(v...))) }
