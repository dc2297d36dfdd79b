package slo_test

import (
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// Both ways of writing a string, spaces and a trailing comma are PromQL's; the
// canonical form is what its own printer gives.
func TestSelectorsAreWrittenInOneForm(t *testing.T) {
	for text, want := range map[string]string{
		`x`:     `x`,
		` x{ }`: `x`,
		`job:http_requests:total{ job = "api" , code !~ '5..', }`: `job:http_requests:total{job="api",code!~"5.."}`,
		"x{path=~`/v1/\\d+`}":           `x{path=~"/v1/\\d+"}`,
		`x{a="\u00e9\x41\n\"",b="é '"}`: `x{a="éA\n\"",b="é '"}`,
		`x{a='\'"'}`:                    `x{a="'\""}`,
		`x_bucket{le="0.5"}`:            `x_bucket{le="0.5"}`,
		`x_bucket{le=~"1|1\\.0"}`:       `x_bucket{le=~"1|1\\.0"}`,
		`x{a="}"}`:                      `x{a="}"}`,
		`x{a!=""}`:                      `x{a!=""}`,
	} {
		s, err := slo.ParseSelector(text)
		if err != nil || s.String() != want {
			t.Errorf("%s: %s, want %s, %v", text, s, want, err)
		}
		if again, err := slo.ParseSelector(s.String()); err != nil || again.String() != want {
			t.Errorf("%s is read back as %s, %v", want, again, err)
		}
	}
	if _, err := slo.ParseSelector("x" + strings.Repeat(" ", 5000)); err == nil {
		t.Error("there is no bound")
	}
}

func TestDisjointSelectors(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`a`, `b`, true},
		{`a`, `a{x="1"}`, false},
		{`a{x="1"}`, `a{x="2"}`, true},
		{`a{x="1"}`, `a{y="2"}`, false},
		{`a{x="1"}`, `a{x!="1"}`, true},
		{`a{x=~"5.."}`, `a{x="404"}`, true},
		{`a{x=~"5.."}`, `a{x="503"}`, false},
		{`a{x=~"5"}`, `a{x="55"}`, true}, // a regular expression matches the whole value
		{`a{x=~"5.."}`, `a{x=~"4.."}`, false},
	} {
		a, err := slo.ParseSelector(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := slo.ParseSelector(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if a.Disjoint(b) != c.want || b.Disjoint(a) != c.want {
			t.Errorf("%s and %s: disjoint is not %v", a, b, c.want)
		}
	}
}

func TestRatios(t *testing.T) {
	set, err := slo.Load("testdata/ratio.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	api, runs, both := set.Files[0], set.Files[1], set.Files[2]
	if api.CountsRuns() || !runs.CountsRuns() || !both.CountsRuns() {
		t.Error("which files have runs")
	}
	o := api.Objective("api")
	if o.CountsRuns() || o.Description != "Requests are answered without a server error." || o.Target.String() != "0.999" || o.Alert != slo.AlertPage ||
		len(o.Events.Bad) != 1 || o.Events.Bad[0].String() != `http_requests_total{job="api",code=~"5..|429"}` || o.Events.Good != nil || len(o.Events.Of(slo.RoleTotal)) != 1 {
		t.Errorf("%+v", o)
	}
	if f := set.Match("", "prod", "anything", nil); f != runs {
		t.Errorf("a file of ratios has taken a run from its neighbour: %+v", f)
	}
	if f := set.Match("", "prod", "triage", nil); f != both {
		t.Errorf("a run of a file with both kinds: %+v", f)
	}
	for _, c := range []struct {
		keys         string
		line, column int
	}{{"service", 2, 1}, {"slos", 4, 1}, {"slos fast alert", 15, 5}, {"slos api", 0, 0}, {"tools", 0, 0}} {
		line, column, ok := api.Position(strings.Fields(c.keys)...)
		if line != c.line || column != c.column || ok != (c.line > 0) {
			t.Errorf("%s stands at %d:%d, %v", c.keys, line, column, ok)
		}
	}
}

// The runs of a component are cut as its files about runs say.
func TestRatiosHaveNoSayInRuns(t *testing.T) {
	set := parse(t, "service: api\nslos: {ratio: {objective: 99%, events: {bad: [a], total: [b]}}}\n---\n"+
		"service: bot\nruns: {quiet_period: 5s}\n"+oneSLO)
	if q := set.Runs().QuietPeriod.String(); q != "5s" {
		t.Errorf("the quiet period is %s", q)
	}
}

func TestSameEvents(t *testing.T) {
	events := func(text string) *slo.Events {
		return parse(t, "service: a\nslos: {ratio: {objective: 99%, events: "+text+"}}").Files[0].SLOs[0].Events
	}
	a := events(`{bad: ['x{a="1",b="2"}', y], total: [z]}`)
	if !a.Equal(events(`{total: [z], bad: [y, 'x{b="2",a="1"}']}`)) {
		t.Error("the order of counters and matchers matters")
	}
	if a.Equal(events(`{bad: [z], total: ['x{a="1",b="2"}', y]}`)) || a.Equal(events(`{good: ['x{a="1",b="2"}', y], total: [z]}`)) {
		t.Error("the roles do not matter")
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, seed := range []string{`x{a="1"}`, "x{a=~`b`, }", `x{a='\x41'`, `x_bucket{le="1"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := slo.ParseSelector(text)
		if err != nil {
			return
		}
		if again, err := slo.ParseSelector(s.String()); err != nil || again.String() != s.String() {
			t.Fatalf("%q is written %s, which is read %s, %v", text, s, again, err)
		}
	})
}
