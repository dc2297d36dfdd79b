package slo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

func parse(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &slo.Set{Files: files}
}

const oneSLO = "slos: {completion: {objective: 99%}}\n"

func document(service, rest string) string {
	return "---\nservice: " + service + "\n" + rest + "\n" + oneSLO
}

func TestMatch(t *testing.T) {
	set := parse(t, strings.Join([]string{
		document("all", ""),
		document("support", `agents: ["support-*"]`),
		document("main", "agents: [support-main]\naliases: {support-old: support-main}"),
		document("support-prod", "agents: [\"support-*\"]\nenvironment: prod"),
		document("support-eu", "agents: [\"support-*\"]\nmatch: {region: eu}"),
		document("gold-eu", "agents: [\"support-*\"]\nmatch: {region: eu, tier: gold}"),
		document("staging", "environment: staging"),
	}, ""))
	for _, c := range []struct {
		environment, agent, attributes string
		want                           string
	}{
		{"", "triage", "", "all"},
		{"prod", "triage", "", "all"},
		{"staging", "triage", "", "staging"}, // an environment is closer than none
		{"", "support-x", "", "support"},
		{"prod", "support-x", "", "support-prod"},
		{"staging", "support-x", "", "support"},          // the agent's glob counts first
		{"prod", "support-x", "region=eu", "support-eu"}, // match entries before the environment
		{"", "support-x", "region=us", "support"},
		{"", "support-x", "region=eu tier=gold", "gold-eu"},
		{"", "support-main", "region=eu tier=gold", "main"}, // a whole name beats a glob
		{"", "support-old", "", "main"},                     // by its alias
		{"", "", "", "all"},                                 // a run without an agent's name
		{"", "Support-x", "", "all"},                        // case counts
	} {
		f := set.Match("whatever", c.environment, c.agent, func(name string) (string, bool) {
			for _, pair := range strings.Fields(c.attributes) {
				if k, v, _ := strings.Cut(pair, "="); k == name {
					return v, true
				}
			}
			return "", false
		})
		if f == nil || f.Service != c.want {
			t.Errorf("%+v: got %v", c, f)
		}
	}
	only := parse(t, document("support", "agents: [\"support-*\"]\nenvironment: prod\nmatch: {region: eu}"))
	none := func(string) (string, bool) { return "", false }
	eu := func(string) (string, bool) { return "eu", true }
	if only.Match("support", "prod", "support-a", none) != nil || only.Match("support", "prod", "support-a", nil) != nil ||
		only.Match("support", "", "support-a", eu) != nil || only.Match("support", "prod", "other", eu) != nil {
		t.Error("a run was matched that lacks a condition")
	}
	if only.Match("other", "prod", "support-a", eu) == nil {
		t.Error("the file's service is a label, not a condition")
	}
	if (&slo.Set{}).Match("", "", "", nil) != nil {
		t.Error("an empty set matches nothing")
	}
}

func TestFilesThatTieAreRefused(t *testing.T) {
	for _, c := range []struct {
		a, b string
		tie  bool
	}{
		{"", "", true},
		{"agents: [a]", "agents: [b]", false},
		{"agents: [a, b]", "agents: [b]", true},
		{"agents: [a]", "agents: ['*']", false},    // one is closer
		{"agents: ['a*']", "agents: ['*b']", true}, // both describe ab with one character
		{"agents: ['a*']", "agents: ['b*']", false},
		{"agents: ['a?']", "agents: ['?b']", true},
		{"agents: ['a?c']", "agents: ['?b']", false},
		{"environment: prod", "environment: staging", false},
		{"environment: prod", "environment: prod", true},
		{"environment: prod", "", false},
		{"match: {r: eu}", "match: {r: us}", false},
		{"match: {r: eu}", "match: {s: x}", true}, // a run may have both
		{"match: {r: eu}", "", false},
		{"environment: prod", "match: {r: eu}", false}, // match entries count first
	} {
		_, err := slo.Parse("x", []byte(document("a", c.a)+document("b", c.b)))
		if got := err != nil && strings.Contains(err.Error(), "described as closely"); got != c.tie {
			t.Errorf("%q and %q: %v", c.a, c.b, err)
		}
	}
}

func TestRuns(t *testing.T) {
	if r := (&slo.Set{}).Runs(); r.MaxSpans != slo.DefaultRuns().MaxSpans {
		t.Errorf("%+v", r)
	}
	r := parse(t, document("a", "runs: {max_age: 30m, key: [session.id]}")).Runs()
	// The default idle timeout of 1h gives way to the shorter age.
	if r.MaxAge.Minutes() != 30 || r.IdleTimeout.Minutes() != 30 || r.Key[0] != "session.id" {
		t.Errorf("%+v", r)
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*", "", true}, {"*", "anything", true}, {"", "", true}, {"", "a", false},
		{"a", "a", true}, {"a", "A", false}, {"a", "ab", false}, {"ab", "a", false},
		{"a*", "a", true}, {"a*", "abc", true}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "abcd", false}, {"*b*", "abc", true}, {"*b*", "ac", false},
		{"a*b*c", "axbxbxc", true}, {"a*b*c", "acb", false}, {"**", "x", true}, {"*?", "", false}, {"?", "é", true}, {"?", "ab", false},
		{"*??xy", "€xy", false}, {"*??xy", "€€xy", true}, // ? is a character, not a byte
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {`\[x\]`, "[x]", true}, {`*\?`, "what?", true}, {`*\?`, "what!", false},
		{"(merged tools)", "(merged tools)", true}, {"a.b", "axb", false}, {"*.x", "x", false},
	} {
		if got := slo.MatchGlob(c.glob, c.name); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.name, got)
		}
	}
	// Without going back over every star, this would take longer than the universe has.
	if slo.MatchGlob(strings.Repeat("a*", 40)+"b", strings.Repeat("a", 400)) {
		t.Error("matched")
	}
}

func TestRepeatsOf(t *testing.T) {
	o := parse(t, "service: a\nslos: {no_progress: {objective: 99%, repeats: 4, per_tool: {'check_*': 10, check_job: 20, '*': 5}}}\n").Files[0].SLOs[0]
	for tool, want := range map[string]int{"check_job": 20, "check_x": 10, "other": 5} {
		if got := o.RepeatsOf(tool); got != want {
			t.Errorf("%s: %d, want %d", tool, got, want)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		var text strings.Builder
		for i := range n {
			text.WriteString(document(fmt.Sprintf("service-%d", i), fmt.Sprintf("agents: [\"team-%d-*\", agent-%d]\nenvironment: prod\nmatch: {cloud.region: eu-west-1}", i, i)))
		}
		set := parse(b, text.String())
		attribute := func(string) (string, bool) { return "eu-west-1", true }
		agent := fmt.Sprintf("team-%d-main", n-1)
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if set.Match("s", "prod", agent, attribute) == nil {
					b.Fatal("no match")
				}
			}
		})
	}
}
