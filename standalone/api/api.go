// Package api answers the Prometheus HTTP API from an embedded engine: what
// Grafana's Prometheus data source, promtool and client_golang's client ask
// for, in the server's own JSON. It only reads.
package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/agentslo/agentslo/standalone/engine"
)

// Options configure the API.
type Options struct {
	Version string // of the Prometheus engine, such as 3.16.0; Grafana picks features by it
	Config  string // what /status/config shows; YAML
	Flags   map[string]string
	Started time.Time
	// MaxConcurrent is how many queries may run at once; default 20, as in a
	// Prometheus server. Further ones wait.
	MaxConcurrent int
}

// API is the handler of everything below /api/v1/.
type API struct {
	engine  *engine.Engine
	options Options
	mux     *http.ServeMux
	slots   chan struct{}
}

// New returns the API over an engine.
func New(e *engine.Engine, options Options) *API {
	if options.MaxConcurrent <= 0 {
		options.MaxConcurrent = 20
	}
	a := &API{engine: e, options: options, mux: http.NewServeMux(), slots: make(chan struct{}, options.MaxConcurrent)}
	both := func(path string, f handler) {
		a.mux.Handle("GET /api/v1/"+path, f)
		a.mux.Handle("POST /api/v1/"+path, f)
	}
	get := func(path string, f handler) { a.mux.Handle("GET /api/v1/"+path, f) }
	both("query", a.query)
	both("query_range", a.queryRange)
	both("query_exemplars", a.queryExemplars)
	both("format_query", a.formatQuery)
	both("labels", a.labelNames)
	both("series", a.series)
	get("label/{name}/values", a.labelValues)
	get("metadata", a.metadata)
	get("rules", a.rules)
	get("alerts", a.alerts)
	get("status/buildinfo", a.buildInfo)
	get("status/runtimeinfo", a.runtimeInfo)
	get("status/config", a.config)
	get("status/flags", a.flags)
	a.mux.Handle("/api/v1/", handler(func(r *http.Request) (*reply, *failure) {
		return nil, &failure{notFound, fmt.Errorf("%s %s is not served here", r.Method, r.URL.Path)}
	}))
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// acquire waits for a query slot; release must be called if it succeeds.
func (a *API) acquire(ctx context.Context) (release func(), f *failure) {
	select {
	case a.slots <- struct{}{}:
		return func() { <-a.slots }, nil
	case <-ctx.Done():
		return nil, queryFailure(context.Cause(ctx))
	}
}

// query context with the request's own timeout, if it names one.
func queryContext(r *http.Request) (context.Context, context.CancelFunc, *failure) {
	v := r.FormValue("timeout")
	if v == "" {
		return r.Context(), func() {}, nil
	}
	timeout, err := parseDuration(v)
	if err != nil {
		return nil, nil, invalid("timeout", err)
	}
	if timeout <= 0 {
		return nil, nil, invalid("timeout", fmt.Errorf("timeout must be positive, got %s", timeout))
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return ctx, cancel, nil
}

func queryOptions(r *http.Request) (promql.QueryOpts, *failure) {
	var lookback time.Duration
	if v := r.FormValue("lookback_delta"); v != "" {
		var err error
		if lookback, err = parseDuration(v); err != nil {
			return nil, &failure{badData, fmt.Errorf("error parsing lookback delta duration: %w", err)}
		}
	}
	return promql.NewPrometheusQueryOpts(false, lookback, nil), nil
}

func queryFailure(err error) *failure {
	switch {
	case errors.As(err, new(promql.ErrQueryCanceled)), errors.Is(err, context.Canceled):
		return &failure{canceled, err}
	case errors.As(err, new(promql.ErrQueryTimeout)), errors.Is(err, context.DeadlineExceeded):
		return &failure{timeout, err}
	case errors.As(err, new(promql.ErrStorage)):
		return &failure{internal, err}
	default:
		return &failure{execution, err}
	}
}

// The earliest and latest times a request may leave out to mean. They are the
// server's own, so that clients that name them are understood.
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

func parseTime(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		seconds, fraction := math.Modf(f)
		fraction = math.Round(fraction*1000) / 1000
		return time.Unix(int64(seconds), int64(fraction*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	switch s { // years of more than four digits, which time.Parse cannot read
	case minTime.Format(time.RFC3339Nano):
		return minTime, nil
	case maxTime.Format(time.RFC3339Nano):
		return maxTime, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

func timeParam(r *http.Request, name string, missing time.Time) (time.Time, *failure) {
	v := r.FormValue(name)
	if v == "" {
		return missing, nil
	}
	t, err := parseTime(v)
	if err != nil {
		return time.Time{}, invalid(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

func parseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		ns := f * float64(time.Second)
		if math.IsNaN(ns) || ns >= math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
	}
	return time.Duration(d), nil
}

// limitParam returns 0 if there is no limit.
func limitParam(r *http.Request) (int, *failure) {
	v := r.FormValue("limit")
	if v == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(v)
	if err != nil {
		return 0, invalid("limit", fmt.Errorf("cannot parse %q to a valid limit", v))
	}
	if limit < 0 {
		return 0, invalid("limit", errors.New("limit must be non-negative"))
	}
	return limit, nil
}

func (a *API) matchers(r *http.Request) ([][]*labels.Matcher, *failure) {
	if err := r.ParseForm(); err != nil {
		return nil, &failure{badData, fmt.Errorf("error parsing form values: %w", err)}
	}
	sets, err := a.engine.Parser().ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return nil, &failure{badData, err}
	}
sets:
	for _, set := range sets {
		for _, m := range set {
			if m != nil && !m.Matches("") {
				continue sets
			}
		}
		return nil, &failure{badData, errors.New("match[] must contain at least one non-empty matcher")}
	}
	return sets, nil
}
