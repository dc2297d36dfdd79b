package frameworks

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// telemetry is an OTLP/HTTP backend that keeps each export request, in the
// order of arrival, and what went wrong in the world on the way.
type telemetry struct {
	mu       sync.Mutex
	requests []Request
	last     time.Time
	spans    []ptrace.Traces
	records  []plog.Logs
	faults   []error
}

// Request is an export request as it came.
type Request struct {
	Path, ContentType string // /v1/traces; application/json or application/x-protobuf
	Body              []byte // decompressed
	Late              bool   // it came a second or more after the one before
}

func (t *telemetry) fault(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, err)
}

func (t *telemetry) traces(rw http.ResponseWriter, r *http.Request) {
	t.take(rw, r, func(body []byte, json bool) error {
		var unmarshaler ptrace.Unmarshaler = &ptrace.ProtoUnmarshaler{}
		if json {
			unmarshaler = &ptrace.JSONUnmarshaler{}
		}
		request, err := unmarshaler.UnmarshalTraces(body)
		if err == nil {
			t.spans = append(t.spans, request)
		}
		return err
	})
}

func (t *telemetry) logs(rw http.ResponseWriter, r *http.Request) {
	t.take(rw, r, func(body []byte, json bool) error {
		var unmarshaler plog.Unmarshaler = &plog.ProtoUnmarshaler{}
		if json {
			unmarshaler = &plog.JSONUnmarshaler{}
		}
		request, err := unmarshaler.UnmarshalLogs(body)
		if err == nil {
			t.records = append(t.records, request)
		}
		return err
	})
}

func (t *telemetry) take(rw http.ResponseWriter, r *http.Request, keep func(body []byte, json bool) error) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		body, err = gunzip(string(body))
	}
	content := r.Header.Get("Content-Type")
	asJSON := strings.HasPrefix(content, "application/json")
	t.mu.Lock()
	if err == nil {
		err = keep(body, asJSON)
	}
	if err == nil {
		late := !t.last.IsZero() && time.Since(t.last) > time.Second
		t.last = time.Now()
		t.requests = append(t.requests, Request{strings.TrimPrefix(r.URL.Path, "/otlp"), content, body, late})
	} else {
		t.faults = append(t.faults, fmt.Errorf("%s: %w", r.URL.Path, err))
	}
	t.mu.Unlock()
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	rw.Header().Set("Content-Type", content)
	if asJSON {
		io.WriteString(rw, "{}") //nolint:errcheck // the client may have gone
	}
}

func gunzip(body string) ([]byte, error) {
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
