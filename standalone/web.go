package standalone

import (
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/standalone/api"
	"github.com/agentslo/agentslo/standalone/page"
)

// web is what --listen serves. Until it is opened it says that it is not ready.
type web struct{ handler atomic.Pointer[http.Handler] }

func newWeb() *web { return &web{} }

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/-/healthy" {
		_, _ = io.WriteString(out, "agentslo is healthy.\n")
		return
	}
	h := w.handler.Load()
	if h == nil {
		http.Error(out, "agentslo is starting.", http.StatusServiceUnavailable)
		return
	}
	(*h).ServeHTTP(out, r)
}

func (p *process) serve() {
	p.served = make(chan error, 1)
	p.server = &http.Server{Handler: p.web, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			p.served <- err
		}
	}()
}

// open starts to serve everything; collector is the Collector's configuration.
func (w *web) open(p *process, collector map[string]any) error {
	config, err := yaml.Marshal(collector)
	if err != nil {
		return err
	}
	queries := api.New(p.engine, api.Options{
		Version: engineVersion(), Started: p.started, Config: string(config),
		Flags: map[string]string{
			"storage.tsdb.path":           p.folder.metrics(),
			"storage.tsdb.retention.time": model.Duration(retention(p.set)).String(),
			"web.listen-address":          p.options.Listen,
		},
	})
	local, err := client.NewClient(client.Config{Address: url(p.options.Listen), RoundTripper: inProcess{queries}})
	if err != nil {
		return err
	}
	a := p.addresses()
	front := page.New(page.Sources{
		Set: p.set, Engine: p.engine, API: promv1.NewAPI(local), Counters: &p.counters, Started: p.started,
		BaseURL: a.Page, OTLPGRPC: a.GRPC, OTLPHTTP: a.HTTP, TraceURL: p.options.TraceURL,
	})
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", queries)
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{&p.counters, p.own}, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 10,
	}))
	mux.HandleFunc("GET /-/ready", func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "agentslo is ready.\n") })
	// Where links of alerts lead: the value of the alert's expression.
	mux.HandleFunc("GET /graph", func(out http.ResponseWriter, r *http.Request) {
		target := "/"
		if expr := r.FormValue("g0.expr"); expr != "" {
			target = "/api/v1/query?query=" + escape(expr)
		}
		http.Redirect(out, r, target, http.StatusFound)
	})
	mux.Handle("GET /{$}", front)
	handler := http.Handler(mux)
	w.handler.Store(&handler)
	return nil
}

// inProcess asks the API without a connection.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := newAnswer(r)
	t.handler.ServeHTTP(answer, r)
	return answer.response(), r.Context().Err()
}

// engineVersion is the version of the Prometheus server whose engine this is:
// module v0.316.0 is server 3.16.0.
func engineVersion() string {
	const path, missing = "github.com/prometheus/prometheus", "3.0.0"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return missing
	}
	for _, m := range info.Deps {
		if m.Path != path {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(m.Version, "v0."), ".")
		if len(parts) == 2 && len(parts[0]) >= 2 {
			return parts[0][:1] + "." + strings.TrimPrefix(parts[0][1:], "0") + "." + parts[1]
		}
	}
	return missing
}
