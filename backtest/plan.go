package backtest

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/agentslo/agentslo/rules"
)

// lookback is for how long an instant selector finds a sample: Prometheus'
// default.
const lookback = 5 * time.Minute

var promql = parser.NewParser(parser.Options{})

// rule is one generated rule, parsed.
type rule struct {
	name     string // of the recorded series or the alert
	text     string
	reads    map[string]time.Duration // metric → how far back
	labels   labels.Labels
	alerting *promrules.AlertingRule // nil for a recording rule
	outputs  map[uint64]labels.Labels
	shown    map[uint64]labels.Labels // series of the evaluation before

	steady    []*promrules.Alert // active after the evaluation before
	vector    engine.Vector      // what that evaluation found, if all of it was firing
	templated bool               // labels depend on the value
}

// plan is the order in which rules are evaluated.
type plan struct {
	blocks []block
	keep   map[string]time.Duration // how far back a metric is read
}

// block is some rules in their order. Those with a memory are stepped.
type block struct {
	rules   []*rule
	stepped bool
}

// always is how long what is asked for is kept.
const always = time.Duration(math.MaxInt64)

// newPlan takes the rules of the groups that alerts or wanted expressions
// depend on.
func newPlan(groups []rules.Group, wanted []string) (*plan, error) {
	var all []*rule
	for _, g := range groups {
		for _, r := range g.Rules {
			parsed, err := newRule(r)
			if err != nil {
				return nil, fmt.Errorf("group %s: %w", g.Name, err)
			}
			all = append(all, parsed)
		}
	}
	p := &plan{keep: map[string]time.Duration{}}
	needed := map[string]bool{}
	for _, text := range wanted {
		expr, err := promql.ParseExpr(text)
		if err != nil {
			return nil, err
		}
		for name := range reads(expr) {
			needed[name] = true
			p.keep[name] = always
		}
	}
	for changed := true; changed; {
		changed = false
		for _, r := range all {
			if r.alerting == nil && !needed[r.name] {
				continue
			}
			for name := range r.reads {
				changed = changed || !needed[name]
				needed[name] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(r *rule) bool { return r.alerting == nil && !needed[r.name] })
	for _, r := range all {
		for name, back := range r.reads {
			p.keep[name] = max(p.keep[name], back)
		}
	}
	p.blocks = blocks(all)
	return p, nil
}

func newRule(r rules.Rule) (*rule, error) {
	expr, err := promql.ParseExpr(r.Expr)
	if err != nil {
		return nil, fmt.Errorf("rule %s%s: %w", r.Record, r.Alert, err)
	}
	out := &rule{name: r.Record, text: r.Expr, reads: reads(expr), labels: labels.FromMap(r.Labels), outputs: map[uint64]labels.Labels{}}
	if r.Alert != "" {
		out.name, out.templated = r.Alert, templated(out.labels)
		// Annotations would be asked for anew at each evaluation.
		out.alerting = promrules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), time.Duration(r.KeepFiringFor), out.labels,
			labels.EmptyLabels(), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	}
	return out, nil
}

// blocks puts together what must be stepped together: from a rule that reads
// its own or a later rule's records, to the last of those.
func blocks(all []*rule) []block {
	var out []block
	for i := 0; i < len(all); {
		end, stepped := i, false
		for j := i; j <= end; j++ {
			for k := len(all) - 1; k >= j; k-- {
				if _, ok := all[j].reads[all[k].recorded()]; ok {
					end, stepped = max(end, k), true
					break
				}
			}
		}
		out = append(out, block{all[i : end+1], stepped})
		i = end + 1
	}
	return out
}

// recorded is the metric that a rule writes.
func (r *rule) recorded() string {
	if r.alerting != nil {
		return "ALERTS"
	}
	return r.name
}

// reads has the metrics of an expression and how far back it reads them.
func reads(expr parser.Expr) map[string]time.Duration {
	found := map[string]time.Duration{}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		back := lookback + v.OriginalOffset
		for _, above := range path {
			switch n := above.(type) {
			case *parser.MatrixSelector:
				back += n.Range
			case *parser.SubqueryExpr:
				back += n.Range + n.OriginalOffset + n.Step
			}
		}
		name := metric(v)
		found[name] = max(found[name], back)
		return nil
	})
	return found
}

func metric(v *parser.VectorSelector) string {
	for _, m := range v.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return v.Name
}

// inputs are the selectors of the metrics that rules read and none of them
// records, each once.
func inputs(groups []rules.Group) ([]*parser.VectorSelector, error) {
	recorded := map[string]bool{"ALERTS": true}
	for _, g := range groups {
		for _, r := range g.Rules {
			recorded[r.Record] = true
		}
	}
	var found []*parser.VectorSelector
	seen := map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Rules {
			expr, err := promql.ParseExpr(r.Expr)
			if err != nil {
				return nil, err
			}
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				if v, ok := node.(*parser.VectorSelector); ok && !recorded[metric(v)] {
					v.OriginalOffset, v.Offset, v.Timestamp, v.StartOrEnd = 0, 0, nil, 0
					if text := v.String(); !seen[text] {
						seen[text] = true
						found = append(found, v)
					}
				}
				return nil
			})
		}
	}
	return found, nil
}
