package gate_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/agentslo/agentslo/gate"
)

// Whatever is wrong with the server, reading is an error in one line, never an
// empty budget that a gate would pass.
func TestServerFailures(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, body) }
	}
	// A matrix or a vector of one series, as the query is a range query or not.
	shaped := func(value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			if !strings.HasSuffix(r.URL.Path, "query_range") {
				fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
				return
			}
			var parts []string
			for _, part := range []string{"last_over_time", "min_over_time", "resets"} {
				parts = append(parts, fmt.Sprintf(`{"metric":{"verdict":"good","slo":"completion","agentslo_part":%q},"values":[[%s,%s]]}`, part, r.Form.Get("start"), value))
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(parts, ","))
		}
	}
	ended := make(chan struct{})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"bad gateway":      {answer(502, "<html>\n<h1>502 Bad Gateway</h1></html>"), "answered with an error: server error: 502"},
		"unauthorized":     {answer(401, "no"), "answered with an error: client error: 401"},
		"login page":       {answer(200, "<html>\nlog in</html>"), "does not answer like the Prometheus API"},
		"empty body":       {answer(200, ""), "does not answer like the Prometheus API"},
		"empty object":     {answer(200, "{}"), "Prometheus"},
		"no data":          {answer(200, `{"status":"success","data":null}`), "Prometheus"},
		"empty data":       {answer(200, `{"status":"success","data":{}}`), "Prometheus"},
		"wrong shape":      {answer(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`), "answered with a scalar"},
		"no series at all": {answer(200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`), "Prometheus"},
		"too many samples": {answer(422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`), "too many samples"},
		"query timeout":    {answer(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), "query timed out"},
		"partial":          {answer(200, `{"status":"success","data":{"resultType":"matrix","result":[]},"warnings":["store a is\naway"]}`), "may be partial: store a is"},
		"not a number":     {shaped(`"NaN"`), "is not a number"},
		"infinite":         {shaped(`"+Inf"`), "is not a number"},
		"closes":           {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be read"},
		"never answers":    {func(http.ResponseWriter, *http.Request) { <-ended }, "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			wait := 20 * time.Second
			if name == "never answers" {
				wait = 100 * time.Millisecond
				defer close(ended)
			}
			p, err := gate.Dial(server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			defer cancel()
			budgets, err := gate.Read(ctx, p, parse(t, support), gate.Options{At: end})
			if err == nil {
				t.Fatalf("read %+v", budgets)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, want one line with %q", err, c.want)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p, err := gate.Dial("http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = gate.Read(context.Background(), p, parse(t, support), gate.Options{At: end})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}

func TestUnusableAddress(t *testing.T) {
	for _, address := range []string{"", "localhost:9090", "http://", "ftp://x", "http://a b", "://"} {
		if _, err := gate.Dial(address, nil); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
	_, err := gate.Dial("ftp://user:secret@host", nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// Thanos' query frontend answers for other times than it was asked for.
func TestMovedStepsAreRefused(t *testing.T) {
	p := aligning{serve(t, 90*24*time.Hour, counts{good: 1000}.of("completion", nil)...)}
	_, err := gate.Read(context.Background(), p, parse(t, support), gate.Options{At: end})
	if err == nil || !strings.Contains(err.Error(), "moves the steps") {
		t.Errorf("%v", err)
	}
}

type aligning struct{ gate.Prometheus }

func (a aligning) QueryRange(ctx context.Context, query string, r promv1.Range, opts ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error) {
	r.Start, r.End = r.Start.Truncate(r.Step), r.End.Truncate(r.Step)
	return a.Prometheus.QueryRange(ctx, query, r, opts...)
}

func TestHeadersAreSent(t *testing.T) {
	var tenant string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant = r.Header.Get("X-Scope-OrgID")
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	p, err := gate.Dial(server.URL, http.Header{"X-Scope-Orgid": {"team-a"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = gate.Read(context.Background(), p, parse(t, support), gate.Options{At: end})
	if tenant != "team-a" {
		t.Errorf("tenant %q", tenant)
	}
}
