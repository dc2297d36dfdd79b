package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentslo/agentslo/standalone/engine"
)

// dataset is a day of counters, in OpenMetrics, ending at end.
func dataset(end time.Time) string {
	var b strings.Builder
	b.WriteString("# TYPE agentslo_events counter\n")
	start := end.Add(-24 * time.Hour)
	for _, series := range []struct {
		labels string
		every  int
	}{{`verdict="good",slo="tool_free"`, 1}, {`verdict="bad",slo="tool_free"`, 7}, {`verdict="good",slo="größe \"x\""`, 3}} {
		for i := range 1440 {
			fmt.Fprintf(&b, "agentslo_events_total{%s} %d %d\n", series.labels, i/series.every, start.Add(time.Duration(i)*time.Minute).Unix())
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// requests that a real server must answer the same, with at for the data's end.
var requests = []string{
	`GET query?query=1&time={at}`,
	`GET query?query="x"&time={at}`,
	`GET query?query=agentslo_events_total&time={at}`,
	`GET query?query=nothing&time={at}`,
	`GET query?query=sum(agentslo_events_total)/3&time={at}`,
	`GET query?query=vector(0.0000001)&time={at}`,
	`GET query?query=vector(1e30)&time={at}`,
	`GET query?query=vector(1/0)&time={at}`,
	`GET query?query=agentslo_events_total[270s]&time={at}`, // at whole minutes, version 3 leaves the left bound out
	`GET query?query=agentslo_events_total&time=2026-01-01T00:00:00.123Z`,
	`GET query?query=1&time={at}.123`,
	`POST query?query=sort_desc(agentslo_events_total)&time={at}`,
	`GET query_range?query=sum(agentslo_events_total)&start={before}&end={at}&step=5m`,
	`POST query_range?query=sum by (slo)(agentslo_events_total)&start={before}&end={at}&step=300.5`,
	`GET query_range?query=1&start={before}&end={at}&step=1h`,
	`GET query_range?query=nothing&start={before}&end={at}&step=1h`,
	`GET series?match[]=agentslo_events_total&start={before}&end={at}`,
	`POST series?match[]={slo="tool_free"}&match[]=agentslo_events_total`,
	`GET series?match[]=nothing`,
	`GET labels?start={before}&end={at}`,
	`POST labels?match[]={verdict="bad"}`,
	`GET label/slo/values`,
	`GET label/slo/values?match[]={verdict="bad"}&match[]={slo="nothing"}`,
	`GET label/nothing/values`,
	`GET query_exemplars?query=agentslo_events_total&start={before}&end={at}`,
	`GET format_query?query=sum(x)by(y)`,
	`GET metadata`,
	// Faults.
	`GET query?query=sum(&time={at}`,
	`GET query?query=1&time=noon`,
	`GET query?query=1&timeout=never`,
	`GET query?query=&time={at}`,
	`GET query?query=agentslo_events_total*on(slo)agentslo_events_total&time={at}`,
	`GET query_range?query=1&start={at}&end={before}&step=1`,
	`GET query_range?query=1&start={before}&end={at}&step=0`,
	`GET query_range?query=1&start={before}&end={at}&step=x`,
	`GET query_range?query=1&start={before}&end={at}&step=0.1`,
	`GET query_range?query=1&end={at}&step=1`,
	`GET query_range?query=agentslo_events_total[5m]&start={before}&end={at}&step=60`,
	`GET series`,
	`GET series?match[]={slo=""}`,
	`GET series?match[]=(`,
	`GET labels?start=x`,
	`GET label/slo/values?match[]=(`,
	`GET metadata?limit=x`,
	`GET rules?type=x`,
}

// The same blocks are read by a real Prometheus server and by the embedded
// engine; the replies must be the same JSON.
func TestRepliesOfARealServer(t *testing.T) {
	server, err1 := exec.LookPath("prometheus")
	promtool, err2 := exec.LookPath("promtool")
	if err1 != nil || err2 != nil {
		t.Skip("prometheus and promtool are not installed")
	}
	end := time.Now().Add(-3 * time.Hour).Truncate(time.Hour)
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	blocks := filepath.Join(folder, "blocks")
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", write("data.om", dataset(end)), blocks).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	ours := filepath.Join(folder, "ours")
	if err := os.CopyFS(ours, os.DirFS(blocks)); err != nil {
		t.Fatal(err)
	}
	write("rules.yaml", ruleFile)
	real := startServer(t, server, write("prometheus.yaml", "rule_files: [rules.yaml]\nglobal: {evaluation_interval: 1s}\n"), blocks)

	e, err := engine.Open(engine.Options{Directory: ours, Retention: 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.StartRules(engine.RuleOptions{Name: filepath.Join(folder, "rules.yaml"), Content: []byte(ruleFile)}); err != nil {
		t.Fatal(err)
	}
	mine := httptest.NewServer(New(e, Options{}))
	t.Cleanup(func() { mine.Close(); _ = e.Close() })
	for deadline := time.Now().Add(10 * time.Second); e.RuleGroups()[0].GetLastEvaluation().IsZero() && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond) // both have evaluated each group

	replace := strings.NewReplacer("{at}", fmt.Sprint(end.Unix()), "{before}", fmt.Sprint(end.Add(-2*time.Hour).Unix()))
	for _, request := range append(requests, `GET rules`, `GET alerts`) {
		request := replace.Replace(request)
		wantStatus, want := ask(t, real, request)
		gotStatus, got := ask(t, mine.URL, request)
		if gotStatus != wantStatus || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %d %s\nwant %d %s", request, gotStatus, indent(got), wantStatus, indent(want))
		}
	}
}

func startServer(t *testing.T, binary, config, data string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	command := exec.Command(binary, "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=365d",
		"--web.listen-address="+address, "--log.level=error")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := plain.Get("http://" + address + "/-/ready")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return "http://" + address
		}
	}
	t.Fatal("prometheus did not become ready")
	return ""
}

var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// moving are the parts of a reply that differ between any two servers: when
// and how fast something was evaluated.
var moving = regexp.MustCompile(`"(evaluationTime|lastEvaluation|activeAt)":("[^"]*"|[0-9.e+-]+)`)

func ask(t *testing.T, base, request string) (int, any) {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, query, _ := strings.Cut(rest, "?")
	form := url.Values{}
	for _, pair := range strings.Split(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			form.Add(name, value)
		}
	}
	target := base + "/api/v1/" + path
	var response *http.Response
	var err error
	if method == http.MethodPost {
		response, err = plain.PostForm(target, form)
	} else {
		response, err = plain.Get(target + "?" + form.Encode())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if got := response.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", request, got)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(moving.ReplaceAllString(string(body), `"$1":0`)))
	decoder.UseNumber() // 1.10 and 1.1 are not the same reply
	var reply map[string]any
	if err := decoder.Decode(&reply); err != nil {
		t.Fatalf("%s: %v\n%s", request, err, body)
	}
	if reply["status"] == "error" {
		delete(reply, "error") // the wording changes between versions
	}
	return response.StatusCode, reply
}

func indent(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	if len(b) > 1500 {
		b = append(b[:1500], "…"...)
	}
	return string(b)
}
