package rules_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// alertmanagerSLOs has all kinds under their own names, and what decides
// whether completion explains a failure.
const alertmanagerSLOs = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot.a
environment: prod
agents: [a]
match: {deployment.environment.name: prod}
slos:
  completion:  {objective: 99%}
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 0.5}]}
  sampled:     {sli: correctness, objective: 95%, evaluations: [{name: e, min_score: 0.5}], expected_coverage: 10%}
  correct_in_acme: {sli: correctness, objective: 95%, when: 'attributes["tenant"] == "acme"', evaluations: [{name: e, min_score: 0.5}]}
  declines:    {sli: abstention, objective: 71%, correct: 95%, evaluations: [{name: e, min_score: 0.5}]}
  forgiving:   {sli: abstention, objective: 71%, provider_faults: exclude}
  mute:        {sli: correctness, objective: 95%, alert: none, evaluations: [{name: e, min_score: 0.5}]}
  latency:     {objective: 95%, threshold: 30s}
  grounding:   {objective: 95%, evaluations: [{name: e, min_score: 0.5}]}
  cost:        {objective: 95%, max_usd: 1}
  tool_free:   {objective: 95%}
  no_progress: {objective: 95%}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: narrow
agents: [b]
slos:
  completion:  {objective: 99%, when: 'attributes["tenant"] == "acme"'}
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 0.5}]}
  same:        {sli: correctness, objective: 95%, when: 'attributes["tenant"] == "acme"', evaluations: [{name: e, min_score: 0.5}]}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: quiet
agents: [c]
slos:
  completion:  {objective: 99%, alert: ticket}
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 0.5}]}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: silent
agents: [d]
slos:
  completion:  {objective: 99%, alert: none}
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 0.5}]}
`

// silencer answers as Alertmanager documents inhibition: some rule has matchers
// for both alerts and the labels in equal are the same; a missing label is empty.
type silencer []struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string
}

func (s silencer) silences(t *testing.T, source, target labels.Labels) bool {
	t.Helper()
	matches := func(matchers []string, alert labels.Labels) bool {
		parsed, err := parser.NewParser(parser.Options{}).ParseMetricSelector("{" + strings.Join(matchers, ",") + "}")
		require.NoError(t, err)
		for _, m := range parsed {
			if !m.Matches(alert.Get(m.Name)) {
				return false
			}
		}
		return true
	}
	for _, rule := range s {
		same := true
		for _, name := range rule.Equal {
			same = same && source.Get(name) == target.Get(name)
		}
		if same && matches(rule.Source, source) && matches(rule.Target, target) {
			return true
		}
	}
	return false
}

func alertmanager(t *testing.T, set *slo.Set) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, rules.WriteAlertmanager(&out, set))
	return out.String()
}

func TestWhatSilencesWhat(t *testing.T) {
	t.Parallel()
	var config struct {
		Inhibit silencer `yaml:"inhibit_rules"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(alertmanager(t, set(t, alertmanagerSLOs))), &config))

	// "service/environment/slo/tier", then the agent, if any.
	alert := func(text string) labels.Labels {
		parts := append(strings.Split(text, "/"), "")
		tier := parts[3]
		m := map[string]string{"alertname": "AgentSLOBudgetBurn", "slo_service": parts[0], "environment": parts[1], "slo": parts[2],
			"severity": "ticket", "agent": parts[4]}
		switch {
		case strings.HasPrefix(tier, "AgentSLO"):
			m["alertname"] = tier
		default:
			m["tier"] = tier
			m["severity"], _, _ = strings.Cut(tier, "_")
		}
		for name, value := range m {
			if value == "" {
				delete(m, name)
			}
		}
		return labels.FromMap(m)
	}
	for _, test := range []struct {
		why, source, target string
		silenced            bool
	}{
		{"a page silences its ticket", "bot.a/prod/latency/page_fast", "bot.a/prod/latency/ticket_slow", true},
		{"whichever page", "bot.a/prod/latency/page_slow", "bot.a/prod/latency/ticket_fast", true},
		{"fast silences slow", "bot.a/prod/latency/page_fast", "bot.a/prod/latency/page_slow", true},
		{"of tickets too", "bot.a/prod/latency/ticket_fast", "bot.a/prod/latency/ticket_slow", true},
		{"not itself", "bot.a/prod/latency/page_fast", "bot.a/prod/latency/page_fast", false},
		{"slow does not silence fast", "bot.a/prod/latency/page_slow", "bot.a/prod/latency/page_fast", false},
		{"a ticket no page", "bot.a/prod/latency/ticket_fast", "bot.a/prod/latency/page_slow", false},
		{"another SLO", "bot.a/prod/latency/page_fast", "bot.a/prod/cost/ticket_slow", false},
		{"another environment", "bot.a/prod/latency/page_fast", "bot.a/dev/latency/ticket_slow", false},
		{"another service", "bot.a/prod/completion/page_fast", "quiet//completion/ticket_slow", false},
		{"another agent", "bot.a/prod/latency/page_fast/x", "bot.a/prod/latency/ticket_slow/y", false},
		{"the same agent", "bot.a/prod/latency/page_fast/x", "bot.a/prod/latency/ticket_slow/x", true},

		{"completion explains correctness", "bot.a/prod/completion/page_fast", "bot.a/prod/correctness/page_fast", true},
		{"and its tickets", "bot.a/prod/completion/page_slow", "bot.a/prod/correctness/ticket_fast", true},
		{"a slow burn does not explain a fast one", "bot.a/prod/completion/page_slow", "bot.a/prod/correctness/page_fast", false},
		{"nor a ticket a page", "bot.a/prod/completion/ticket_fast", "bot.a/prod/correctness/page_slow", false},
		{"not the other way round", "bot.a/prod/correctness/page_fast", "bot.a/prod/completion/ticket_slow", false},
		{"of one agent, one agent's", "bot.a/prod/completion/page_fast/x", "bot.a/prod/correctness/page_fast/y", false},
		{"of another environment", "bot.a/dev/completion/page_fast", "bot.a/dev/correctness/page_fast", false},
		{"a name is no pattern", "botxa/prod/completion/page_fast", "botxa/prod/correctness/page_fast", false},
		{"fewer runs than completion counts", "bot.a/prod/completion/page_fast", "bot.a/prod/correct_in_acme/page_fast", true},
		{"a sample leaves failed runs out", "bot.a/prod/completion/page_fast", "bot.a/prod/sampled/page_fast", false},
		{"no answer", "bot.a/prod/completion/page_fast", "bot.a/prod/declines/page_fast", true},
		{"only answers are right or wrong", "bot.a/prod/completion/page_fast", "bot.a/prod/declines_correctness/page_fast", false},
		{"the provider's fault", "bot.a/prod/completion/page_fast", "bot.a/prod/forgiving/page_fast", false},
		{"late is not failed", "bot.a/prod/completion/page_fast", "bot.a/prod/latency/page_fast", false},
		{"only answers are grounded", "bot.a/prod/completion/page_fast", "bot.a/prod/grounding/page_fast", false},
		{"errors are cheap", "bot.a/prod/completion/page_fast", "bot.a/prod/cost/page_fast", false},
		{"only answers need tools", "bot.a/prod/completion/page_fast", "bot.a/prod/tool_free/page_fast", false},
		{"it says why", "bot.a/prod/completion/page_fast", "bot.a/prod/no_progress/page_fast", false},

		{"completion of some runs", "narrow//completion/page_fast", "narrow//correctness/page_fast", false},
		{"of the same runs", "narrow//completion/page_fast", "narrow//same/page_fast", true},
		{"where completion is quiet", "quiet//completion/ticket_fast", "quiet//correctness/ticket_fast", true},
		{"pages stay", "quiet//completion/ticket_fast", "quiet//correctness/page_fast", false},
		{"where completion has no alerts", "silent//completion/page_fast", "silent//correctness/page_fast", false},

		{"a burn is no lack of evidence", "bot.a/prod/latency/page_fast", "bot.a/prod/latency/AgentSLOCoverageLow", false},
		{"lack of evidence is no burn", "bot.a/prod/latency/AgentSLOCoverageLow", "bot.a/prod/latency/ticket_slow", false},
		{"no data silences nothing", "bot.a/prod//AgentSLONoData", "bot.a/prod/latency/ticket_slow", false},
		{"nothing silences no data", "bot.a/prod/completion/page_fast", "bot.a/prod//AgentSLONoData", false},
	} {
		require.Equal(t, test.silenced, config.Inhibit.silences(t, alert(test.source), alert(test.target)),
			"%s: %s → %s", test.why, test.source, test.target)
	}
}

// Every kind of set makes a configuration that Alertmanager accepts, and
// routes follow the severity that the file gives its alerts.
func TestAmtool(t *testing.T) {
	t.Parallel()
	amtool, err := exec.LookPath("amtool")
	if err != nil {
		t.Skip("amtool is not installed")
	}
	path := filepath.Join(t.TempDir(), "alertmanager.yaml")
	run := func(arguments ...string) string {
		out, err := exec.Command(amtool, arguments...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	for name, s := range map[string]*slo.Set{"none": {}, "all": set(t, alertmanagerSLOs), "odd names": many(t), "one": set(t, oneSLO)} {
		require.NoError(t, os.WriteFile(path, []byte(alertmanager(t, s)), 0o600))
		require.Contains(t, run("check-config", path), "SUCCESS", name)
	}

	loud := set(t, oneSLO+"alerting: {page: {labels: {severity: 'critical \"1\"'}}}\n---\napiVersion: agentslo/v1\nkind: AgentSLO\nservice: b\nagents: [other]\nslos: {completion: {objective: 99%}}\n")
	require.NoError(t, os.WriteFile(path, []byte(alertmanager(t, loud)), 0o600))
	for severity, receiver := range map[string]string{`"critical \"1\""`: rules.ReceiverPage, "page": rules.ReceiverPage, "ticket": rules.ReceiverTicket, "other": rules.ReceiverTicket} {
		out := run("config", "routes", "test", "--config.file="+path, "alertname=AgentSLOBudgetBurn", "severity="+severity)
		require.Equal(t, receiver, lastLine(out), severity)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
