package interchange_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/interchange"
	"github.com/agentslo/agentslo/slo"
)

// Every specification of testdata says in comments what is read from it:
//
//	# slo SERVICE NAME OBJECTIVE WINDOW ALERT ROLE: SELECTOR, …; ROLE: SELECTOR, …
//	# with SERVICE NAME KEY=VALUE          beside it, in the order of [described]
//	# warning LINE:COLUMN KEY: words of the message
//	# error LINE:COLUMN KEY: words of the message
//
// These are all that there may be.
func TestSpecifications(t *testing.T) {
	names, _ := filepath.Glob("testdata/*/*.yaml")
	if len(names) < 17 {
		t.Fatalf("only %d specifications", len(names))
	}
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, "testdata/"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, notices := interchange.Import([]interchange.Source{{Path: name, Data: data}}, interchange.ImportOptions{})
			same(t, "slo", stated(data, "slo|with"), described(t, files))
			var told []string
			for _, n := range notices {
				kind := "warning"
				if n.Error {
					kind = "error"
				}
				told = append(told, fmt.Sprintf("%s %d:%d %s: %s", kind, n.Line, n.Column, n.Key, n.Message))
			}
			want := stated(data, "warning|error")
			for _, w := range want {
				place, words, _ := strings.Cut(w, ": ")
				i := slices.IndexFunc(told, func(s string) bool { return strings.HasPrefix(s, place+": ") && strings.Contains(s, words) })
				if i < 0 {
					t.Errorf("missing: %s", w)
					continue
				}
				told = slices.Delete(told, i, i+1)
			}
			for _, s := range told {
				t.Errorf("not wanted: %s", s)
			}
		})
	}
}

func specifications(t testing.TB) (all [][]byte) {
	t.Helper()
	names, _ := filepath.Glob("testdata/*/*.yaml")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

func stated(data []byte, kinds string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^# (?:`+kinds+`) .*$`).FindAllString(string(data), -1) {
		all = append(all, strings.TrimPrefix(m, "# "))
	}
	return all
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("missing %s: %s", what, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("not wanted: %s", g)
		}
	}
}

// described tells what agentslo reads from imported files.
func described(t *testing.T, files []interchange.File) []string {
	t.Helper()
	var all []string
	for _, file := range files {
		read, err := slo.Parse(file.Name, file.Data)
		if err != nil {
			t.Fatalf("what is imported is no SLO file: %v\n%s", err, file.Data)
		}
		all = append(all, describe(read)...)
	}
	return all
}

func describe(files []*slo.File) []string {
	var all []string
	for _, f := range files {
		for i := range f.SLOs {
			o := &f.SLOs[i]
			var roles []string
			for _, role := range slo.Roles {
				if o.CountsRuns() {
					break
				}
				var texts []string
				for _, s := range o.Events.Of(role) {
					texts = append(texts, s.String())
				}
				if len(texts) > 0 {
					roles = append(roles, string(role)+": "+strings.Join(texts, ", "))
				}
			}
			name := f.Service + " " + o.Name
			all = append(all, fmt.Sprintf("slo %s %s %s %s %s", name, slo.FormatRatio(o.Target), f.Window.Name, o.Alert, strings.Join(roles, "; ")))
			with := func(key, value string) {
				if value != "" {
					all = append(all, fmt.Sprintf("with %s %s=%s", name, key, value))
				}
			}
			each := func(prefix string, values map[string]string) {
				for _, k := range slices.Sorted(maps.Keys(values)) {
					with(prefix+k, values[k])
				}
			}
			with("environment", f.Environment)
			with("description", o.Description)
			if f.Window.Calendar != "" && f.Window.Location.String() != "UTC" {
				with("timezone", f.Window.Location.String())
			}
			each("label.", f.Labels)
			if o.Alert == slo.AlertPage {
				each("page.", f.Alerting.PageLabels)
			}
			if o.Alert != slo.AlertNone {
				each("ticket.", f.Alerting.TicketLabels)
			}
			with("runbook", strings.NewReplacer("{{service}}", f.Service, "{{slo}}", o.Name, "{{environment}}", f.Environment).Replace(f.Alerting.Runbook))
			with("dashboard", f.Alerting.Dashboard)
			if fp := f.Alerting.FalsePages.String(); fp != "0.3" {
				with("false_pages", fp)
			}
		}
	}
	return all
}
