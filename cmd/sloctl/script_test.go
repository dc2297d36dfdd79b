package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentslo/agentslo/standalone/api"
	"github.com/agentslo/agentslo/standalone/engine"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sloctl": main})
}

// TestScripts runs the stories of testdata/script, in which a person types
// sloctl. They have these commands beside testscript's own:
//
//	exits CODE sloctl …   the command must end with that code
//	lines stdout|stderr N the last command must have printed so many lines
//	prometheus FILE       a Prometheus API over the samples of the file, in $PROMETHEUS_URL
//	answers CODE FILE     a server that always answers that, in $PROMETHEUS_URL
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PROMETHEUS_URL", "http://127.0.0.1:1") // never what listens on this machine
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"lines":      lines,
			"prometheus": startPrometheus,
			"answers":    startAnswers,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines stdout|stderr N")
	}
	text := ts.ReadFile(args[0])
	if got := strings.Count(text, "\n"); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%d lines, want %s\n%s", got, args[1], text)
	}
}

// startPrometheus reads lines such as
//
//	agentslo_events_total{slo="completion"} 0@48h 17@12h 17@1m
//
// of values and how long ago they were scraped.
func startPrometheus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: prometheus FILE")
	}
	e, err := engine.Open(engine.Options{Directory: ts.MkAbs("tsdb-" + args[0]), Retention: 90 * 24 * time.Hour})
	ts.Check(err)
	server := httptest.NewServer(api.New(e, api.Options{}))
	ts.Defer(func() { server.Close(); _ = e.Close() })
	ts.Check(appendSamples(e, ts.ReadFile(args[0]), time.Now()))
	ts.Setenv("PROMETHEUS_URL", server.URL)
}

func appendSamples(e *engine.Engine, text string, now time.Time) error {
	type row struct {
		labels labels.Labels
		at     time.Time
		value  float64
	}
	var rows []row
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		series, values, ok := strings.Cut(line, "} ")
		if !ok {
			return fmt.Errorf("no samples: %s", line)
		}
		l, err := parser.NewParser(parser.Options{}).ParseMetric(series + "}")
		if err != nil {
			return err
		}
		for _, sample := range strings.Fields(values) {
			value, ago, _ := strings.Cut(sample, "@")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			d, err := time.ParseDuration(ago)
			if err != nil {
				return err
			}
			rows = append(rows, row{l, now.Add(-d), v})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.at.Compare(b.at) })
	appender := e.DB().Appender(context.Background())
	for _, r := range rows {
		if _, err := appender.Append(0, r.labels, r.at.UnixMilli(), r.value); err != nil {
			return err
		}
	}
	return appender.Commit()
}

func startAnswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answers CODE FILE")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	body := ts.ReadFile(args[1])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	ts.Defer(server.Close)
	ts.Setenv("PROMETHEUS_URL", server.URL)
}
