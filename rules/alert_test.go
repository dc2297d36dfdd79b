package rules_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// every is a runs' end every so often, with that verdict.
func every(w *world, e *target, d time.Duration, verdict string) func() {
	return func() {
		if !e.holds(w.now) && w.now.Sub(start)%d == 0 {
			e.add("a", "completion", verdict, 1)
		}
	}
}

func TestOneFailureAtFourRunsAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	w.keep(rules.AlertBudgetBurn)
	e := w.target()
	e.born("a", "completion")
	w.run(2*time.Hour, every(w, e, 15*time.Minute, "good"))
	e.add("a", "completion", "bad", 1)
	w.each = func() { require.Empty(t, w.firing(rules.AlertBudgetBurn)) }
	w.run(2*time.Hour, every(w, e, 15*time.Minute, "good"))
	require.Equal(t, 1.0, w.increase("completion", "bad", "1d"))
}

func TestOutagePagesAndResets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO+"labels: {team: red}\nalerting: {runbook: \"https://runbooks.example.com/{{service}}/{{slo}}\", page: {labels: {pager: night}}}\n")
	e := w.target()
	e.born("a", "completion")
	w.run(2*time.Hour, every(w, e, time.Minute, "good"))
	require.Empty(t, w.firing(rules.AlertBudgetBurn))
	began := w.now
	var paged time.Time
	w.each = func() {
		if paged.IsZero() && len(w.query(`ALERTS{severity="page",alertstate="firing"}`)) > 0 {
			paged = w.now
		}
	}
	w.run(time.Hour, every(w, e, time.Minute, "bad"))
	// 14.4% of an hour's 60 runs are bad after 9 minutes; 9 of them are evidence of 12 nats.
	require.InDelta(t, 9, paged.Sub(began).Minutes(), 2)
	require.Equal(t, []string{
		`{severity="page", slo="completion", tier="page_fast"}`, `{severity="page", slo="completion", tier="page_slow"}`,
		`{severity="ticket", slo="completion", tier="ticket_fast"}`, `{severity="ticket", slo="completion", tier="ticket_slow"}`,
	}, w.firing(rules.AlertBudgetBurn))

	alerts := active(w)
	page := alerts["page_fast"]
	require.Equal(t, "red", page.Labels.Get("team"))
	require.Equal(t, "night", page.Labels.Get("pager"))
	require.Equal(t, "prod", page.Labels.Get("environment"))
	require.Equal(t, "https://runbooks.example.com/bot/completion", page.Annotations.Get("runbook_url"))
	// The hour reaches back to the last good run.
	require.Equal(t, "bot (prod) completion: 98.33% of the runs in the last 1h were bad; the objective allows 1%", page.Annotations.Get("summary"))
	require.Regexp(t, `^The objective: 99% of runs end with an answer, a refusal or a hand-over to a person\. In the last 1h (\d+) of (\d+) counted runs were bad\. `+
		`The error budget of 30d: overspent, -\d+(\.\d+)?% is left\.$`, page.Annotations.Get("description"))
	_, err := parser.NewParser(parser.Options{}).ParseExpr(page.Annotations.Get("reasons_query"))
	require.NoError(t, err)

	// The short windows are clean after 5 and 30 minutes, and the alerts are kept for 30 and 60 more.
	w.run(37*time.Minute, every(w, e, time.Minute, "good"))
	require.Empty(t, w.query(`ALERTS{tier="page_fast",alertstate="firing"}`))
	w.run(57*time.Minute, every(w, e, time.Minute, "good"))
	require.Empty(t, w.query(`ALERTS{severity="page",alertstate="firing"}`))
}

// active are the firing burn alerts by tier.
func active(w *world) map[string]*promrules.Alert {
	found := map[string]*promrules.Alert{}
	for _, g := range w.groups {
		for _, r := range g.Rules() {
			if a, ok := r.(*promrules.AlertingRule); ok {
				for _, alert := range a.ActiveAlerts() {
					if alert.State == promrules.StateFiring {
						found[alert.Labels.Get("tier")] = alert
					}
				}
			}
		}
	}
	return found
}

// TestSparseAgentIsNeitherBlindNorStuck: with two runs an hour the short window
// is mostly empty; an outage pages, and ends although no run follows.
func TestSparseAgentIsNeitherBlindNorStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	w.keepPages()
	e := w.target()
	e.born("a", "completion")
	w.run(6*time.Hour, every(w, e, 30*time.Minute, "good"))
	w.run(2*time.Hour, every(w, e, 30*time.Minute, "bad"))
	require.NotEmpty(t, w.query(`ALERTS{severity="page",alertstate="firing"}`))
	w.run(7*time.Hour, nil)
	require.Empty(t, w.query(`ALERTS{severity="page",alertstate="firing"}`))
}

func TestNoDataIsNotIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e, other := w.target(), w.target("job", "another", "instance", "x")
	w.run(30*time.Minute, nil)
	require.Empty(t, w.firing(rules.AlertNoData), "an exporter without a single run yet")
	e.born("a", "completion")
	w.run(30*time.Minute, nil)
	require.Empty(t, w.firing(rules.AlertNoData), "counters that stand still")
	clear(e.values)
	w.run(30*time.Minute, nil)
	require.Empty(t, w.firing(rules.AlertNoData), "restarted, and no run since")
	e.up = false
	w.run(30*time.Minute, nil)
	require.True(t, other.up)
	require.Len(t, w.firing(rules.AlertNoData), 1, "the exporter is gone; that another one is there does not matter")
	e.up = true
	w.run(2*time.Minute, nil)
	require.Empty(t, w.firing(rules.AlertNoData))
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(3*time.Minute, nil)
	e.add("a", "completion", "good", 8)
	e.add("a", "completion", "unknown", 4)
	w.run(2*time.Minute, nil)
	require.Empty(t, w.firing(rules.AlertCoverageLow), "a third of twelve runs is weak evidence against a fifth")
	e.add("a", "completion", "excluded", 30)
	w.run(2*time.Minute, nil)
	require.Len(t, w.firing(rules.AlertCoverageLow), 1)
	require.Empty(t, w.firing(rules.AlertBudgetBurn))
}

const manySLOs = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
agents: [bot-main]
window: 7d
labels: {team: 'the "{{ red }}" $team', tier: ""}
slos:
  completion: {objective: 99.9%}
  answers: {sli: correctness, objective: 90%, evaluations: [{name: correctness, min_score: 0.7}], expected_coverage: 10%}
  latency: {objective: 95%, threshold: 30s, alert: ticket}
  quiet: {sli: cost, objective: 99.95%, max_usd: 0.25, alert: none}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
agents: ["*"]
by: [agent]
window: 90d
slos:
  completion: {objective: 50%}
  tool_free: {objective: 98%}
`

// written are the rules of a set, as a server reads them.
func written(t *testing.T, set *slo.Set) *rulefmt.RuleGroups {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, rules.Write(&out, set, rules.FormatPrometheus))
	groups, errs := rulefmt.Parse(out.Bytes(), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default())
	require.Empty(t, errs)
	return groups
}

func many(t *testing.T) *slo.Set {
	return set(t, strings.Replace(manySLOs, `, tier: ""`, "", 1))
}

func TestAlertsFollowTheFile(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, g := range written(t, many(t)).Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				counts[strings.Join([]string{g.Name, r.Alert, r.Labels["slo"], r.Labels["severity"]}, " ")]++
			}
		}
	}
	require.Equal(t, map[string]int{
		"agentslo-bot-prod AgentSLOBudgetBurn completion page": 2, "agentslo-bot-prod AgentSLOBudgetBurn completion ticket": 2,
		"agentslo-bot-prod AgentSLOBudgetBurn answers page": 2, "agentslo-bot-prod AgentSLOBudgetBurn answers ticket": 2,
		"agentslo-bot-prod AgentSLOBudgetBurn latency ticket":  2,
		"agentslo-bot-prod AgentSLOCoverageLow answers ticket": 1, "agentslo-bot-prod AgentSLOCoverageLow completion ticket": 1,
		"agentslo-bot-prod AgentSLOCoverageLow latency ticket": 1, "agentslo-bot-prod AgentSLONoData  ticket": 1,
		"agentslo-bot AgentSLOBudgetBurn completion page": 2, "agentslo-bot AgentSLOBudgetBurn completion ticket": 2,
		"agentslo-bot AgentSLOBudgetBurn tool_free page": 2, "agentslo-bot AgentSLOBudgetBurn tool_free ticket": 2,
		"agentslo-bot AgentSLOCoverageLow completion ticket": 1, "agentslo-bot AgentSLOCoverageLow tool_free ticket": 1,
		"agentslo-bot AgentSLONoData  ticket": 1,
	}, counts)
}

func TestRecordedNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, g := range rules.Groups(set(t, oneSLO)) {
		for _, r := range g.Rules {
			if r.Record != "" {
				names = append(names, r.Record)
			}
		}
	}
	slices.Sort(names)
	want := []string{"agentslo:budget_remaining:ratio", "agentslo:error_budget:ratio", "agentslo:events:state", "agentslo:objective:ratio", "agentslo:uncounted_ratio:1d"}
	for _, w := range []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d"} {
		want = append(want, "agentslo:burn_rate:"+w, "agentslo:error_ratio:"+w, "agentslo:events:increase"+w, "agentslo:evidence:"+w)
	}
	slices.Sort(want)
	require.Equal(t, want, names)
}

// TestDecimalsAreExact: nobody reads 0.0009999999999999.
func TestDecimalsAreExact(t *testing.T) {
	t.Parallel()
	noise := regexp.MustCompile(`\.\d*(0000000|9999999)\d`)
	for _, g := range rules.Groups(many(t)) {
		for _, r := range g.Rules {
			require.NotRegexp(t, noise, strings.ReplaceAll(r.Expr, "0.00006103515625", ""), r.Record+r.Alert)
		}
	}
}

// TestTiersFollowTheWindow: windows scale, burn rates spend the stated share,
// and half failing is above every page's threshold.
func TestTiersFollowTheWindow(t *testing.T) {
	t.Parallel()
	type row struct{ long, short, threshold, share string }
	rows := func(window, objective string) (got []row) {
		f := set(t, strings.Replace(oneSLO, "99%", objective, 1)+"window: "+window+"\n").Files[0]
		for _, tier := range rules.Tiers(f, &f.SLOs[0]) {
			got = append(got, row{rules.Duration(tier.Long), rules.Duration(tier.Short), tier.Threshold.String(), tier.BudgetShare.String()})
		}
		return got
	}
	require.Equal(t, []row{{"1h", "5m", "0.0144", "0.02"}, {"6h", "30m", "0.006", "0.05"}, {"1d", "2h", "0.003", "0.1"}, {"3d", "6h", "0.001", "0.1"}}, rows("30d", "99.9%"))
	// 14.4 × 10% is more than all runs: capped at 40%, a burn of 4, which in an hour spends 4/720.
	require.Equal(t, []row{{"1h", "5m", "0.4", "0.0056"}, {"6h", "30m", "0.4", "0.0333"}, {"1d", "2h", "0.3", "0.1"}, {"3d", "6h", "0.1", "0.1"}}, rows("30d", "90%"))
	// In 28 days the burn rates are 13.44, 5.6 and 2.8; the last would be 0.93, less than the budget tolerates.
	require.Equal(t, []row{{"1h", "5m", "0.1344", "0.02"}, {"6h", "30m", "0.056", "0.05"}, {"1d", "2h", "0.028", "0.1"}, {"3d", "6h", "0.01", "0.1071"}}, rows("28d", "99%"))
	require.Equal(t, "15m", rows("7d", "99%")[0].long)
	require.Equal(t, "3h", rows("90d", "99%")[0].long)
}

func TestOperatorFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, rules.Write(&out, many(t), rules.FormatOperator))
	var object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       rulefmt.RuleGroups
	}
	require.NoError(t, yaml.Unmarshal(out.Bytes(), &object))
	require.Equal(t, []string{"monitoring.coreos.com/v1", "PrometheusRule", "agentslo"}, []string{object.APIVersion, object.Kind, object.Metadata.Name})
	require.Equal(t, written(t, many(t)).Groups, object.Spec.Groups)
	require.ErrorContains(t, rules.Write(&out, many(t), "json"), "json")
}

// long says whether tests may take minutes.
func long() bool { return os.Getenv("AGENTSLO_LONG") != "" }

// TestPromtool runs the installed promtool over generated rules and their
// generated tests, and over rules with a mistake.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for name, s := range map[string]*slo.Set{"one": set(t, oneSLO), "many": many(t)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var ruleFile, testFile bytes.Buffer
			require.NoError(t, rules.Write(&ruleFile, s, rules.FormatPrometheus))
			require.NoError(t, rules.Tests(&testFile, s, "rules.yaml"))
			run := func(rules []byte, arguments ...string) (string, error) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules, 0o600))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "tests.yaml"), testFile.Bytes(), 0o600))
				command := exec.CommandContext(context.Background(), promtool, arguments...)
				command.Dir = dir
				out, err := command.CombinedOutput()
				return string(out), err
			}
			out, err := run(ruleFile.Bytes(), "check", "rules", "rules.yaml")
			require.NoError(t, err, out)
			require.NotContains(t, out, "duplicate")
			if name == "many" && !long() {
				return
			}
			out, err = run(ruleFile.Bytes(), "test", "rules", "tests.yaml")
			require.NoError(t, err, out)
			if name == "many" || !long() {
				return
			}
			for old, mistake := range map[string]string{"> 8\n": "> 1\n", "> 0.144\n": "> 1.44\n", ">= 0\n": ">= 2\n"} {
				broken := bytes.ReplaceAll(ruleFile.Bytes(), []byte(old), []byte(mistake))
				require.NotEqual(t, ruleFile.Bytes(), broken)
				_, err = run(broken, "test", "rules", "tests.yaml")
				require.Error(t, err, "%q instead of %q", mistake, old)
			}
		})
	}
}
