package gate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

// A stock Prometheus server, of whatever version is installed, gives the same
// counts: before 3.0 the beginning of a range belonged to it.
func TestCountsAreExactOnAServer(t *testing.T) {
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	if testing.Short() {
		t.Skip("starts a server")
	}
	set := parse(t, support)
	now := time.Now().Truncate(time.Second)
	r := rand.New(rand.NewPCG(1, 2))
	var streams []stream
	for replica := range 2 {
		for _, verdict := range slo.Verdicts {
			s := stream{labels: map[string]string{
				"slo_service": "support", "environment": "prod", "agent": fmt.Sprint(replica), "slo": "completion",
				"verdict": verdict.String(), "instance": fmt.Sprint("collector-", replica),
			}}
			s.samples = scrapes(r, now.Add(-40*24*time.Hour), now.Add(-time.Minute), 30*time.Minute)
			// Samples on the seams of stretches.
			for i := range s.samples {
				if r.IntN(3) == 0 {
					s.samples[i].at = s.samples[i].at.Truncate(time.Hour).Add(now.Sub(now.Truncate(time.Hour)))
				}
			}
			sort.SliceStable(s.samples, func(i, j int) bool { return s.samples[i].at.Before(s.samples[j].at) })
			s.samples = distinct(s.samples)
			streams = append(streams, s)
		}
	}
	p := server(t, streams)
	b := read(t, p, set, gate.Options{At: now})[0]
	want := map[string]int64{}
	for _, s := range streams {
		want[s.labels["verdict"]] += rose(s.samples, now.Add(-30*24*time.Hour), now)
	}
	got := map[string]int64{"good": b.Good, "bad": b.Bad, "unknown": b.Unknown, "excluded": b.Excluded}
	for verdict, n := range got {
		if n != want[verdict] {
			t.Errorf("%s: %d, samples say %d", verdict, n, want[verdict])
		}
	}
}

// distinct drops samples at the time of the one before.
func distinct(samples []sample) (out []sample) {
	for _, s := range samples {
		if len(out) == 0 || s.at.After(out[len(out)-1].at) {
			out = append(out, s)
		}
	}
	return out
}

// server runs a Prometheus server that holds the streams.
func server(t *testing.T, streams []stream) gate.Prometheus {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("# TYPE agentslo_events counter\n")
	for _, s := range streams {
		var labels []string
		for name, value := range s.labels {
			labels = append(labels, fmt.Sprintf("%s=%q", name, value))
		}
		sort.Strings(labels)
		for _, p := range s.samples {
			fmt.Fprintf(&text, "agentslo_events_total{%s} %v %d.%03d\n", strings.Join(labels, ","), p.value, p.at.Unix(), p.at.UnixMilli()%1000)
		}
	}
	text.WriteString("# EOF\n")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := filepath.Join(dir, "data")
	out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=744h", write("samples", text.String()), data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	command := exec.Command("prometheus", "--config.file="+write("prometheus.yml", "global: {}\n"), "--storage.tsdb.path="+data,
		"--storage.tsdb.retention.time=365d", "--web.listen-address="+address)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if answer, err := http.Get("http://" + address + "/-/ready"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("prometheus is not ready")
		}
	}
	p, err := gate.Dial("http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A month of 28 series (seven SLOs, four verdicts) scraped every 15 s.
func BenchmarkRead(b *testing.B) {
	set := parse(b, support)
	var streams []stream
	for i := range 7 {
		for _, verdict := range slo.Verdicts {
			s := stream{labels: map[string]string{
				"slo_service": "support", "environment": "prod", "agent": fmt.Sprint(i), "slo": "completion", "verdict": verdict.String(),
			}}
			for at := end.Add(-30 * 24 * time.Hour); at.Before(end); at = at.Add(15 * time.Second) {
				s.samples = append(s.samples, sample{at, float64(len(s.samples) / 100)})
			}
			streams = append(streams, s)
		}
	}
	p := serve(b, 365*24*time.Hour, streams...)
	b.ResetTimer()
	for range b.N {
		if _, err := gate.Read(context.Background(), p, set, gate.Options{At: end}); err != nil {
			b.Fatal(err)
		}
	}
}
