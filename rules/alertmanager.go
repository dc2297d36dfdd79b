package rules

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// Receivers of the configuration that [WriteAlertmanager] writes.
const (
	ReceiverPage   = "agentslo-page"
	ReceiverTicket = "agentslo-ticket"
)

// alertmanagerTop is the configuration up to inhibit_rules. %s are matchers.
const alertmanagerTop = `# From sloctl generate alertmanager: a start, to be filled in at receivers.
# Into a configuration that exists go the route of AgentSLO…, its two receivers
# and inhibit_rules; inhibit_rules change with the SLO file.
route:
  receiver: others
  routes:
    # One notification for each service and environment, whichever SLOs fail.
    - matchers: [%s]
      receiver: ` + ReceiverTicket + `
      group_by: [` + LabelService + `, ` + LabelEnvironment + `]
      routes:
        # Time for the other alerts of the same evaluation to come.
        - matchers: [%s]
          receiver: ` + ReceiverPage + `
          group_wait: 10s
          group_interval: 2m
          repeat_interval: 4h
        # Time for a page of the same SLO to come, which silences the ticket.
        - matchers: [%s]
          receiver: ` + ReceiverTicket + `
          group_wait: 5m
          group_interval: 15m
          repeat_interval: 1d

# Fill these in. A receiver that only has a name drops what it gets.
receivers:
  # Alerts that are not of agentslo.
  - name: others
  # Wakes a person, such as
  #   pagerduty_configs:
  #     - routing_key_file: /etc/alertmanager/pagerduty
  - name: ` + ReceiverPage + `
  # Is read on the next working day, such as
  #   slack_configs:
  #     - api_url_file: /etc/alertmanager/slack
  #       channel: '#agents'
  #       send_resolved: true
  - name: ` + ReceiverTicket + `

`

// WriteAlertmanager writes an Alertmanager configuration, accepted from 0.22
// on: alerts are grouped by service and environment and go by severity to
// [ReceiverPage] or [ReceiverTicket], which are to be filled in. It fails when w
// does.
//
// Of the burn alerts of one SLO (and agent, where budgets are by agent) the
// fastest tier silences the others, so a page its ticket. Those of a completion
// SLO also silence the equally fast and slower tiers of the SLOs of their file
// that a run fails whenever it fails completion, see [explained].
// AgentSLOSegmentBurn, AgentSLOCoverageLow and AgentSLONoData neither silence
// nor are silenced: they say what no burn alert does, that one tenant is worse
// than all, or that evidence is missing.
func WriteAlertmanager(w io.Writer, set *slo.Set) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, alertmanagerTop,
		yamlString(oneOf("alertname", AlertBudgetBurn, AlertSegmentBurn, AlertCoverageLow, AlertNoData)),
		yamlString(oneOf("severity", severities(set, SeverityPage)...)),
		yamlString(oneOf("severity", severities(set, SeverityTicket)...)))

	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, rule := range inhibitions(set) {
		item := &yaml.Node{}
		if err := item.Encode(rule); err != nil {
			return err
		}
		item.HeadComment = rule.why
		list.Content = append(list.Content, item)
	}
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(map[string]*yaml.Node{"inhibit_rules": list}); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// severities are the values of the label that alerts of the severity have:
// `alerting` may give them another.
func severities(set *slo.Set, severity string) []string {
	var values []string
	for _, f := range set.Files {
		own := f.Alerting.PageLabels
		if severity == SeverityTicket {
			own = f.Alerting.TicketLabels
		}
		if value, ok := own["severity"]; ok {
			values = append(values, value)
		} else {
			values = append(values, severity)
		}
	}
	if len(values) == 0 {
		return []string{severity}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// inhibition is a rule of Alertmanager. Labels that both alerts lack are equal.
type inhibition struct {
	why    string
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string `yaml:"equal,flow"`
}

func inhibitions(set *slo.Set) []inhibition {
	burn := oneOf("alertname", AlertBudgetBurn)
	same := []string{LabelService, LabelEnvironment, LabelSLO, LabelAgent}
	var all []inhibition
	for i, row := range tierRows[:len(tierRows)-1] {
		all = append(all, inhibition{
			Source: []string{burn, oneOf("tier", row.name)},
			Target: []string{burn, oneOf("tier", tierNames(i+1)...)},
			Equal:  same,
		})
	}
	all[0].why = "A fast tier silences the slower ones of the same SLO, a page its ticket."

	for _, f := range set.Files {
		for c := range f.SLOs {
			all = append(all, inhibitionsBy(f, &f.SLOs[c])...)
		}
	}
	return all
}

// inhibitionsBy are the rules by which a completion SLO silences others: one
// for each of its tiers, so that a slow burn of completion does not hide a
// faster one that must have another cause.
func inhibitionsBy(f *slo.File, completion *slo.Objective) []inhibition {
	var names []string
	for i := range f.SLOs {
		if o := &f.SLOs[i]; o.Alert != slo.AlertNone && explained(completion, o) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	// A file without an environment has alerts without the label.
	of := []string{oneOf("alertname", AlertBudgetBurn), oneOf(LabelService, f.Service), oneOf(LabelEnvironment, f.Environment)}
	var all []inhibition
	for _, t := range Tiers(f, completion) {
		i := slices.IndexFunc(tierRows, func(row tierRow) bool { return row.name == t.Name })
		all = append(all, inhibition{
			Source: append(slices.Clone(of), oneOf(LabelSLO, completion.Name), oneOf("tier", t.Name)),
			Target: append(slices.Clone(of), oneOf(LabelSLO, names...), oneOf("tier", tierNames(i)...)),
			Equal:  []string{LabelAgent},
		})
	}
	if len(all) > 0 {
		all[0].why = f.Service + ": a run that fails " + completion.Name + " fails " + strings.Join(names, ", ") + " with it."
	}
	return all
}

// explained says whether every run that fails completion also fails the other
// SLO, as the verdict table has it. Of the kinds these are correctness and
// abstention, and only where they count every run: a sample leaves failed runs
// out, and so do a choice of runs by their outcome and the exclusion of trouble at
// the provider.
//
// The others keep their alerts. grounding and tool_free exclude runs without an
// answer, cost excludes errors: what burns them is something else. latency is
// bad by time alone, and custom by an expression of its own. no_progress fails
// with completion, but says why; one notification has both.
func explained(completion, o *slo.Objective) bool {
	return completion.SLI == "completion" && (o.SLI == "correctness" || o.SLI == "abstention") &&
		!sampled(o) &&
		(o.When == nil || !strings.Contains(o.When.Source, "run.outcome")) &&
		(o.ProviderFaults != slo.ProviderFaultsExclude || completion.ProviderFaults == slo.ProviderFaultsExclude) &&
		(completion.When == nil || o.When != nil && o.When.Source == completion.When.Source) &&
		(len(completion.Agents) == 0 || slices.Equal(o.Agents, completion.Agents))
}

// sampled says whether only some runs are judged.
func sampled(o *slo.Objective) bool {
	return o.ExpectedCoverage.IsPositive() && o.ExpectedCoverage.LessThan(decimal.NewFromInt(1))
}

// tierNames are those of the tiers from the i-th on, fastest first.
func tierNames(i int) []string {
	var names []string
	for _, row := range tierRows[i:] {
		names = append(names, row.name)
	}
	return names
}

// oneOf is a matcher of Alertmanager.
func oneOf(label string, values ...string) string {
	if len(values) == 1 {
		return label + "=" + matcherString(values[0])
	}
	patterns := make([]string, len(values))
	for i, v := range values {
		patterns[i] = regexp.QuoteMeta(v)
	}
	return label + "=~" + matcherString(strings.Join(patterns, "|"))
}

// matcherString quotes: Alertmanager knows these three escapes and no others.
func matcherString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// yamlString is s in a flow sequence of YAML.
func yamlString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
