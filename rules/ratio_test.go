package rules_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// ratioFile has every way to say two of good, bad and total, beside an SLO
// about runs.
const ratioFile = `
service: bot
environment: prod
labels: {team: web}
slos:
  completion: {objective: 99%}
  failures: {sli: ratio, objective: 99%, events: {bad: ['http_total{code=~"5.."}'], total: [http_total]}}
  successes: {sli: ratio, objective: 99%, events: {good: ['http_total{code="200"}'], total: ['http_total{code!="0"}']}}
  parts: {sli: ratio, objective: 99%, alert: ticket, events: {good: ['http_total{code="200"}', done_total], bad: ['http_total{code="500"}', 'http_total{code=~"50[0-9]"}', failed_total]}}
`

// counts is what an SLO counted within 30 days: bad of good and bad.
func (w *world) counts(name string) string {
	w.t.Helper()
	for _, v := range []string{"unknown", "excluded"} {
		require.Zero(w.t, w.increase(name, v, "30d"))
	}
	return fmt.Sprintf("%g of %g", w.increase(name, "bad", "30d"), w.increase(name, "bad", "30d")+w.increase(name, "good", "30d"))
}

// server is a program with counters of its own, by series as PromQL writes them.
type server struct {
	instance string
	others   map[string]float64
	up       bool
	was      []labels.Labels // at the last scrape
}

// servers are scraped when exporters are.
type servers struct {
	*world
	all  []*server
	each func() // after each scrape
}

func newServers(t *testing.T, file string) *servers {
	w := &servers{world: newWorld(t, file)}
	w.scraped = func() {
		w.scrape()
		if w.each != nil {
			w.each()
		}
	}
	return w
}

func (w *servers) server(instance string) *server {
	s := &server{instance: instance, others: map[string]float64{}, up: true}
	w.all = append(w.all, s)
	return s
}

func (w *servers) scrape() {
	app := w.db.AppenderV2(context.Background())
	add := func(l labels.Labels, v float64) {
		_, err := app.Append(0, l, 0, w.now.UnixMilli(), v, nil, nil, storage.AOptions{})
		require.NoError(w.t, err)
	}
	for _, s := range w.all {
		var is []labels.Labels
		if s.up {
			for text, v := range s.others {
				l, err := parser.NewParser(parser.Options{}).ParseMetric(text)
				require.NoError(w.t, err)
				b := labels.NewBuilder(l)
				b.Set("job", "web")
				b.Set("instance", s.instance)
				is = append(is, b.Labels())
				add(is[len(is)-1], v)
			}
		}
		for _, l := range s.was {
			if !slices.ContainsFunc(is, func(other labels.Labels) bool { return labels.Equal(l, other) }) {
				add(l, math.Float64frombits(value.StaleNaN))
			}
		}
		s.was = is
	}
	require.NoError(w.t, app.Commit())
}

// A counter's series is made by its first event: the first failure of a server
// that is known counts, with what it failed before the next scrape.
func TestRatioCountsTheFirstFailure(t *testing.T) {
	w := newServers(t, ratioFile)
	s := w.server("a:80")
	s.others[`http_total{code="200"}`] = 0
	s.others[`done_total`] = 0
	w.run(2*time.Minute, nil)
	require.Equal(t, "0 of 0", w.counts("failures"))
	require.Equal(t, 1.0, w.number(`agentslo:budget_remaining:ratio{slo="failures"}`))
	s.others[`http_total{code="200"}`] = 7
	s.others[`http_total{code="500"}`] = 3
	s.others[`done_total`] = 5
	w.run(2*time.Minute, nil)
	require.Equal(t, "3 of 10", w.counts("failures"))
	require.Equal(t, "3 of 10", w.counts("successes"))
	require.Equal(t, "3 of 15", w.counts("parts"), "a series that two selectors match counts once, metrics are added")
	require.Equal(t, 0.3, w.number(`agentslo:error_ratio:30d{slo="failures"}`))
	s.others[`failed_total`] = 1
	w.run(2*time.Minute, nil)
	require.Equal(t, "4 of 16", w.counts("parts"))
	require.Equal(t, "3 of 10", w.counts("failures"))
}

// Counters are years old when rules are loaded, a selector is widened, or a
// server is found: what they counted before is nobody's budget.
func TestRatioLeavesThePastAlone(t *testing.T) {
	w := newServers(t, strings.Replace(ratioFile, `code=~"5.."`, `code="500"`, 1))
	w.evaluates = false
	old := w.server("a:80")
	old.others[`http_total{code="200"}`], old.others[`http_total{code="500"}`], old.others[`http_total{code="503"}`] = 1e6, 5e4, 3e4
	w.run(3*time.Hour, nil)
	w.evaluates = true
	w.run(5*time.Minute, nil)
	require.Equal(t, "0 of 0", w.counts("failures"))
	old.others[`http_total{code="500"}`] += 2
	w.run(3*time.Minute, nil)
	require.Equal(t, "2 of 2", w.counts("failures"))

	w.load(ratioFile)
	w.run(3*time.Minute, nil)
	require.Equal(t, "2 of 2", w.counts("failures"), "503 counts from now on")
	old.others[`http_total{code="503"}`] += 1
	w.run(2*time.Minute, nil)
	require.Equal(t, "3 of 3", w.counts("failures"))

	other := w.server("b:80")
	other.others[`http_total{code="200"}`], other.others[`http_total{code="500"}`] = 1e6, 5e4
	w.run(3*time.Minute, nil)
	require.Equal(t, "3 of 3", w.counts("failures"))
	other.others[`http_total{code="200"}`] += 4
	w.run(2*time.Minute, nil)
	require.Equal(t, "3 of 7", w.counts("failures"))
}

// Labels of counters may have the names of ours, and metrics the same labels.
func TestRatioKeepsCountersApart(t *testing.T) {
	w := newServers(t, ratioFile+"---\nservice: bot\nslos: {failures: {sli: ratio, objective: 99%, events: {bad: ['http_total{code=~\"5..\",environment=\"dev\"}'], total: ['http_total{environment=\"dev\"}']}}}\n")
	s := w.server("a:80")
	series := []string{`environment="prod"`, `environment="dev"`, `slo="x"`, `verdict="good"`, `slo_service="bot"`, `verdict="bad",slo="failures"`, `team="x"`, `agentslo_part="seen"`, `agentslo_series="http_total"`}
	all := func(add float64) {
		for i, l := range series {
			s.others[fmt.Sprintf(`http_total{code="200",%s}`, l)] += add * float64(i+1)
			s.others[fmt.Sprintf(`http_total{code="500",%s}`, l)] += add
		}
	}
	all(0)
	w.run(2*time.Minute, nil)
	all(1)
	w.run(2*time.Minute, nil)
	require.Equal(t, 9.0, w.number(`agentslo:events:increase30d{slo="failures",environment="prod",verdict="bad"}`))
	require.Equal(t, 45.0, w.number(`agentslo:events:increase30d{slo="failures",environment="prod",verdict="good"}`))
	require.Equal(t, 1.0, w.number(`agentslo:events:increase30d{slo="failures",environment="",verdict="bad"}`))
	require.Equal(t, 2.0, w.number(`agentslo:events:increase30d{slo="failures",environment="",verdict="good"}`))
}

// Servers that come, go, restart and are missed: every event that was scraped
// counts once. What a new server counted before its first scrape does not, nor
// a series' first event within the server's first evaluation, or before the
// first evaluation after a restart if it has outgrown the old life by then, or
// within five minutes of it if it was gone meanwhile; there are none here.
func TestRatioCountsAreExact(t *testing.T) {
	seeds, hours := uint64(1), time.Duration(1)
	if os.Getenv("AGENTSLO_LONG") != "" {
		seeds, hours = 12, 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 7))
			w := newServers(t, `
service: bot
environment: prod
slos:
  failures: {sli: ratio, objective: 99%, events: {bad: ['http_total{code=~"5.."}'], total: [http_total]}}
`)
			type life struct {
				*server
				scraped, first map[string]float64
				begun          time.Time
			}
			var lives []*life
			begin := func(of *server) {
				of.others = map[string]float64{}
				for _, code := range []string{"200", "404"} {
					of.others[fmt.Sprintf("http_total{code=%q}", code)] = 0
				}
				lives = append(lives, &life{server: of, begun: w.now})
			}
			begin(w.server("s-0:80"))
			begin(w.server("s-1:80"))
			w.each = func() {
				newest := map[*server]*life{}
				for _, l := range lives {
					newest[l.server] = l
				}
				for of, l := range newest {
					if !of.up {
						continue
					}
					l.scraped = map[string]float64{}
					for k, v := range of.others {
						l.scraped[k] = v
					}
					if l.first == nil {
						l.first = l.scraped
					}
				}
			}
			known := map[*server]bool{}
			w.run(hours*time.Hour, func() {
				for _, of := range w.all {
					young := slices.ContainsFunc(lives, func(l *life) bool { return l.server == of && w.now.Sub(l.begun) < 8*time.Minute })
					for _, code := range []string{"200", "404", "500", "503"} {
						if rate := map[string]float64{"200": 0.3, "404": 0.05, "500": 0.004, "503": 0.002}[code]; rng.Float64() < rate*5 && !(young && code[0] == '5') {
							of.others[fmt.Sprintf("http_total{code=%q}", code)]++
						}
					}
				}
				of := w.all[rng.IntN(len(w.all))]
				switch x := rng.Float64() * 720; { // an hour has 720 steps
				case x < 4 && !slices.ContainsFunc(lives, func(l *life) bool { return l.server == of && w.now.Sub(l.begun) < 8*time.Minute }):
					begin(of)
				case x < 8 && len(w.all) < 5:
					begin(w.server(fmt.Sprintf("s-%d:80", len(w.all))))
				}
			})
			w.run(2*time.Minute, nil)
			bad, all := 0.0, 0.0
			for _, l := range lives {
				again := known[l.server] // a restarted server is known: its counters are born at 0
				known[l.server] = true
				for k, v := range l.scraped {
					if !again {
						v -= l.first[k]
					}
					all += v
					if strings.Contains(k, `"5`) {
						bad += v
					}
				}
			}
			require.Equal(t, fmt.Sprintf("%g of %g", bad, all), w.counts("failures"))
			require.NotZero(t, bad)
		})
	}
}

// An outage pages as it does for runs; an SLO whose counters are gone says so,
// and its neighbours in the file are not disturbed.
func TestRatioAlerts(t *testing.T) {
	w := newServers(t, ratioFile)
	e := w.target()
	e.born("a", "completion")
	s := w.server("a:80")
	s.others[`http_total{code="200"}`], s.others[`http_total{code="500"}`] = 0, 0
	failing := false
	serve := func() {
		e.add("a", "completion", "good", 1)
		if failing {
			s.others[`http_total{code="500"}`]++
		} else {
			s.others[`http_total{code="200"}`]++
		}
	}
	w.run(time.Hour, serve)
	require.Empty(t, w.firing(rules.AlertBudgetBurn))
	failing = true
	w.run(20*time.Minute, serve)
	require.Contains(t, w.firing(rules.AlertBudgetBurn), `{severity="page", slo="failures", tier="page_fast"}`)
	for _, alert := range w.firing(rules.AlertBudgetBurn) {
		require.NotContains(t, alert, "completion")
		require.False(t, strings.Contains(alert, `slo="parts"`) && strings.Contains(alert, "page"), "%s", alert)
	}
	require.Empty(t, w.firing(rules.AlertCoverageLow))
	require.Empty(t, w.firing(rules.AlertNoData))
	f := set(t, ratioFile).Files[0]
	require.Equal(t, map[string]float64{`{reason="http_total{code=~\"5..\"}", slo="failures"}`: w.number(rules.Reasons(f, f.Objective("failures"), time.Hour))},
		w.query(rules.Reasons(f, f.Objective("failures"), time.Hour)))
	require.Equal(t, 1, len(w.query(rules.Reasons(f, f.Objective("successes"), time.Hour))))

	s.up = false
	w.run(20*time.Minute, func() { e.add("a", "completion", "good", 1) })
	require.ElementsMatch(t, []string{`{severity="ticket", slo="failures"}`, `{severity="ticket", slo="successes"}`, `{severity="ticket", slo="parts"}`}, w.firing(rules.AlertNoData))
}

// The generated tests of ratios hold under promtool: their series are made up
// from the selectors, here with expressions, and good events of all.
func TestRatiosUnderPromtool(t *testing.T) {
	t.Parallel()
	tests := underPromtool(t, "service: api\nslos: {latency: {sli: ratio, objective: 95%, alert: ticket, events: {good: ['d_bucket{le=\"0.5\",job=~\"(api|web)-[0-9]+\"}'], total: ['d_count{job!=\"\",path!~\"/health.*\"}']}}}\n")
	require.Contains(t, tests, `d_bucket{le="0.5",job="api-0",instance="web"}`)
}

// underPromtool checks the rules of a file and runs their generated tests,
// which it returns.
func underPromtool(t *testing.T, text string) string {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	s := set(t, text)
	dir := t.TempDir()
	var ruleFile, testFile bytes.Buffer
	require.NoError(t, rules.Write(&ruleFile, s, rules.FormatPrometheus))
	require.NoError(t, rules.Tests(&testFile, s, "rules.yaml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), ruleFile.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tests.yaml"), testFile.Bytes(), 0o600))
	for _, arguments := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "tests.yaml"}} {
		command := exec.Command(promtool, arguments...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s\n%s", text, out)
	}
	return testFile.String()
}

// promtool takes rules of the same name and labels for a mistake.
func TestNoRuleIsThereTwice(t *testing.T) {
	for _, g := range rules.Groups(set(t, ratioFile)) {
		seen := map[string]bool{}
		for _, r := range g.Rules {
			key := fmt.Sprint(r.Record, r.Alert, r.Labels)
			require.False(t, seen[key], "%s", key)
			seen[key] = true
		}
	}
}

// A file of ratios alone needs no exporter, and one whose counters do not exist
// is no healthy SLO.
func TestRatiosAlone(t *testing.T) {
	w := newServers(t, "service: api\nslos:\n  a: {sli: ratio, objective: 99%, events: {bad: ['no_total{x=\"1\"}'], total: [no_total]}}\n  b: {sli: ratio, objective: 99%, alert: none, events: {good: [b_total], bad: [c_total]}}\n")
	s := w.server("a:80")
	s.others["b_total"], s.others["c_total"] = 0, 0
	w.run(20*time.Minute, func() { s.others["b_total"]++ })
	require.Equal(t, []string{`{severity="ticket", slo="a"}`}, w.firing(rules.AlertNoData))
	// The last evaluation, at 19:35, has the scrape of 19:10, the 230th step; the
	// first scrape, at 0:10, had 2 already.
	require.Equal(t, 228.0, w.increase("b", "good", "30d"))
}
