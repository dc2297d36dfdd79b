// Package page is the web page of `sloctl up`: each SLO's objective, events,
// budget and burn, firing alerts, and what went wrong last. Its numbers are
// those of `sloctl budget`; it only reads.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone/engine"
)

// Sources are what the page reads.
type Sources struct {
	Set      *slo.Set
	Engine   *engine.Engine
	API      gate.Prometheus     // over the same engine
	Counters prometheus.Gatherer // the exporter's
	Started  time.Time

	BaseURL  string // of this process
	OTLPGRPC string // host:port
	OTLPHTTP string // URL
	TraceURL string // of a run in a trace viewer, with {trace_id}; may be ""
	Refresh  time.Duration
}

// Handler serves the page.
type Handler struct {
	sources Sources

	// Many browsers that refresh cost no more than one, and a month of samples
	// no more than a tenth of a core.
	mu       sync.Mutex
	rendered []byte
	until    time.Time // rendered is good enough
}

// New returns the page over its sources.
func New(sources Sources) *Handler {
	if sources.Refresh <= 0 {
		sources.Refresh = 5 * time.Second
	}
	return &Handler{sources: sources}
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"css": func() template.CSS { return template.CSS(pageCSS) },
	"js":  func() template.JS { return template.JS(pageJS) },
}).Parse(pageHTML))

// policy lets the page's own style and script run, and nothing else.
var policy = func() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "style-src " + hash(pageCSS), "script-src " + hash(pageJS),
		"connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}()

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := h.render(r.Context())
	if err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(body)
}

func (h *Handler) render(ctx context.Context) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start := time.Now()
	if start.Before(h.until) {
		return h.rendered, nil
	}
	var b bytes.Buffer
	// The reader may leave, but the next one is served what was made for this one.
	if err := pageTemplate.Execute(&b, h.sources.view(context.WithoutCancel(ctx), start)); err != nil {
		return nil, err
	}
	h.rendered, h.until = b.Bytes(), time.Now().Add(max(time.Second, 10*time.Since(start)))
	return h.rendered, nil
}
