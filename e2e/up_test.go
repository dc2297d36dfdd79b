//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const file = "e2e/testdata/slo.yaml" // from the repository's root

// pipeline is a running `sloctl up`.
type pipeline struct {
	*process
	data, grpc, http, listen string
}

func up(t *testing.T, p pipeline) pipeline {
	t.Helper()
	p.process = start(t, nil, programs.sloctl, "up", "-f", file, "--data", p.data,
		"--otlp-grpc", p.grpc, "--otlp-http", p.http, "--listen", p.listen)
	eventually(t, time.Minute, func() error {
		select {
		case <-p.done:
			return permanent{p.err}
		default:
		}
		_, err := get("http://" + p.listen + "/-/ready")
		return err
	})
	return p
}

func newPipeline(t *testing.T) pipeline {
	return pipeline{data: t.TempDir(), grpc: port(t), http: port(t), listen: port(t)}
}

func (p pipeline) prometheus() string { return "http://" + p.listen }

// agent runs the Go example agent against the pipeline.
func (p pipeline) agent(t *testing.T, arguments ...string) *process {
	t.Helper()
	return start(t, nil, programs.agent, append([]string{"-endpoint", "http://" + p.http}, arguments...)...)
}

// Twenty runs with three known failures are exactly twenty events per SLO with
// exactly the known good and bad. A stop in the middle of five open runs and a
// restart on the same folder change none of that, and then the five runs count
// as well.
func TestUpCountsExactlyAcrossARestart(t *testing.T) {
	p := up(t, newPipeline(t))
	p.agent(t, "-script", script).ends(t, time.Minute)
	counts(t, file, p.prometheus(), afterScript, 90*time.Second)

	held := p.agent(t, "-script", "", "-hold", "ok:5")
	held.says(t, "holding 5 open runs", time.Minute)
	p.process.stop(t, terminate, time.Minute)

	p = up(t, p)
	counts(t, file, p.prometheus(), afterScript, 90*time.Second)
	stays(t, file, p.prometheus(), afterScript, 8*time.Second)

	held.stop(t, os.Interrupt, time.Minute)
	counts(t, file, p.prometheus(), with(afterScript, 5), 90*time.Second)
	stays(t, file, p.prometheus(), with(afterScript, 5), 8*time.Second)
	p.process.stop(t, terminate, time.Minute)
}

// Two processes on one folder would write one history.
func TestUpRefusesASharedFolder(t *testing.T) {
	p := up(t, newPipeline(t))
	_, stderr, code := output(t, programs.sloctl, "up", "-f", file, "--data", p.data,
		"--otlp-grpc", port(t), "--otlp-http", port(t), "--listen", port(t))
	if code != 2 || !strings.Contains(stderr, p.data) {
		t.Errorf("exit %d, and the error does not name the folder: %s", code, stderr)
	}
	p.process.stop(t, terminate, time.Minute)
}

func TestUpNamesATakenPort(t *testing.T) {
	p := up(t, newPipeline(t))
	_, stderr, code := output(t, programs.sloctl, "up", "-f", file, "--data", t.TempDir(),
		"--otlp-grpc", port(t), "--otlp-http", p.http, "--listen", port(t))
	_, number, _ := strings.Cut(p.http, ":")
	if code != 2 || !strings.Contains(stderr, number) {
		t.Errorf("exit %d, and the error does not name the port %s: %s", code, number, stderr)
	}
	p.process.stop(t, terminate, time.Minute)
}

// Its query API is Prometheus's own to those who ask it: promtool, and the gate.
func TestUpSpeaksPrometheus(t *testing.T) {
	promtool := installed(t, "promtool")
	p := up(t, newPipeline(t))
	p.agent(t, "-script", script).ends(t, time.Minute)
	counts(t, file, p.prometheus(), afterScript, 90*time.Second)

	eventually(t, time.Minute, func() error {
		if out := succeeds(t, promtool, "query", "instant", p.prometheus(), "agentslo:objective:ratio"); !strings.Contains(out, `slo="completion"`) {
			return errorf("promtool finds no recorded objective: %s", out)
		}
		return nil
	})
	if out := succeeds(t, promtool, "query", "labels", p.prometheus(), "slo"); !strings.Contains(out, "tool_free") {
		t.Errorf("label values: %s", out)
	}
	if out := succeeds(t, promtool, "query", "series", "--match=agentslo_events_total", p.prometheus()); !strings.Contains(out, `verdict="bad"`) {
		t.Errorf("series: %s", out)
	}

	// Three failures in twenty runs are above every budget here: whatever the
	// evidence says, the release does not pass.
	stdout, stderr, code := output(t, programs.sloctl, "gate", "-f", file, "--prometheus", p.prometheus(), "-o", "json")
	if (code != 1 && code != 3) || strings.Contains(stdout, `"decision":"pass","slos"`) {
		t.Errorf("gate: exit %d\n%s%s", code, stdout, stderr)
	}
	p.process.stop(t, terminate, time.Minute)
}

// The demo needs no file and no network, and ends by itself when asked to.
func TestDemoEndsByItself(t *testing.T) {
	stdout, stderr, code := output(t, programs.sloctl, "demo", "--once")
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, part := range []string{"page    support-agent no_progress", "http://"} {
		if !strings.Contains(stdout+stderr, part) {
			t.Errorf("the demo does not show %s:\n%s%s", part, stdout, stderr)
		}
	}
}

// The TypeScript agent on the Vercel AI SDK is read like the Go one.
func TestUpReadsTheVercelAgent(t *testing.T) {
	node := installed(t, "node")
	example := filepath.Join(root, "examples", "vercel-ai")
	tsx := filepath.Join("node_modules", "tsx", "dist", "cli.mjs")
	if _, err := os.Stat(filepath.Join(example, tsx)); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the example's npm packages are not installed")
		}
		t.Skip("the example's npm packages are not installed")
	}
	p := up(t, newPipeline(t))
	agent := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + p.http}, node,
		filepath.Join("examples", "vercel-ai", tsx), "examples/vercel-ai/src/main.ts", "--endpoint", "http://"+p.http, "--script", "ok:3,tool_free:1")
	agent.ends(t, time.Minute)
	eventually(t, 90*time.Second, func() error {
		got, err := budget(t, file, p.prometheus())
		if err != nil {
			return err
		}
		want := events{Good: 3, Bad: 1}
		if got["tool_free"] != want {
			return errorf("tool_free: %+v, want %+v", got["tool_free"], want)
		}
		return nil
	})
	p.process.stop(t, terminate, time.Minute)
}
