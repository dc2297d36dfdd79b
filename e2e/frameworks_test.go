//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/e2e/frameworks"
	"github.com/agentslo/agentslo/truth"
)

// Every framework runs its scenarios now, at the versions of its lock file. What
// it emits is read by the built command line as what the model server, the tools
// and the application saw; and sent to a running pipeline, with the judges'
// scores after the runs were done, it is counted as exactly these verdicts.
func TestFrameworksAreReadAsWhatHappened(t *testing.T) {
	recordings := record(t)

	const whatTheTruthIsOf = "examples/support-agent/slo.yaml"
	in := t.TempDir()
	var report truth.Report
	counted := map[string]events{}
	for _, r := range recordings {
		x, err := truth.Expect(&r.Entry)
		if err != nil {
			t.Fatal(err)
		}
		arguments := []string{"derive", "-f", whatTheTruthIsOf, "-o", "json"}
		for _, file := range []struct{ name, text string }{{"spans.json", r.Traces}, {"logs.json", r.Logs}} {
			if file.text == "" {
				continue
			}
			name := filepath.Join(in, strings.ReplaceAll(x.Name, "/", "-")+"-"+file.name)
			if err := os.WriteFile(name, []byte(file.text), 0o644); err != nil {
				t.Fatal(err)
			}
			arguments = append(arguments, name)
		}
		runs, err := truth.ReadDerived([]byte(succeeds(t, programs.sloctl, arguments...)))
		if err != nil {
			t.Fatal(err)
		}
		report.Add(x, runs)
		for i := range runs {
			for name, slo := range runs[i].SLOs {
				counted[name] = counted[name].plus(slo.Verdict)
			}
		}
	}
	for _, f := range report.Findings {
		if f.Grade >= truth.Unexplained {
			t.Errorf("%s run %d: %s is %s, truth %s", f.Recording, f.Run, f.Fact, f.Got, f.Want)
		}
	}

	const file = "e2e/testdata/frameworks.yaml"
	p := newPipeline(t)
	p.process = start(t, nil, programs.sloctl, "up", "-f", file, "--data", p.data, "--otlp-grpc", p.grpc, "--otlp-http", p.http, "--listen", p.listen)
	eventually(t, time.Minute, func() error { _, err := get("http://" + p.listen + "/-/ready"); return err })
	send := func(late bool) {
		for _, r := range recordings {
			after := false
			for _, request := range r.Requests {
				if after = after || request.Late; after == late {
					post(t, "http://"+p.http+request.Path, request.ContentType, request.Body)
				}
			}
		}
	}
	send(false)
	time.Sleep(5 * time.Second) // longer than the quiet period
	send(true)
	counts(t, file, p.prometheus(), counted, 2*time.Minute)
	p.process.stop(t, terminate, time.Minute)
}

// record runs all agents through their scenarios.
func record(t *testing.T) (all []*frameworks.Recording) {
	installed(t, "node")
	installed(t, "npm")
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frameworks.Agents {
		a := &frameworks.Agents[i]
		if !a.Installed(here) {
			if err := a.Install(t.Context(), here); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
		}
		recordings, err := a.RecordAll(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recordings {
			if r.Differs(here) {
				t.Logf("%s emits another thing than the recording of it: make record-frameworks, and read the difference", *r.Entry.File)
			}
		}
		all = append(all, recordings...)
	}
	return all
}

func (e events) plus(verdict string) events {
	switch verdict {
	case "good":
		e.Good++
	case "bad":
		e.Bad++
	case "unknown":
		e.Unknown++
	case "excluded":
		e.Excluded++
	}
	return e
}

func post(t *testing.T, url, contentType string, body []byte) {
	t.Helper()
	response, err := http.Post(url, contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %s", url, response.Status))
	}
}
