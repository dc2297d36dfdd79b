package rules

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/prometheus/common/model"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// AlertSegmentBurn fires for one value of a dimension, such as a tenant, that
// certainly overspends an error budget, whatever the budget of all looks like.
const AlertSegmentBurn = "AgentSLOSegmentBurn"

// LabelDimension names the dimension on [AlertSegmentBurn]; the label of that
// name has the value.
const LabelDimension = "dimension"

// The windows of a 30-day budget that it looks at: the one whose events are
// judged, and the one in which it must still be failing.
const (
	segmentLong  = 72 * time.Hour
	segmentShort = 6 * time.Hour
)

// segmentKeepFiring bridges good events among bad ones.
const segmentKeepFiring = 3 * time.Hour

// counter is the exporter's metric that the scope counts.
func (s scope) counter() string {
	if s.dimension == "" {
		return "agentslo_events_total"
	}
	return "agentslo_events_by_" + s.dimension + "_total"
}

// memory is the record of the scope's state: as [State], of its own counters.
func (s scope) memory() string {
	if s.dimension == "" {
		return State
	}
	return "agentslo:events_by_" + s.dimension + ":state"
}

// segmentRules count by each dimension that alerts, exactly as events are
// counted without it, and raise a ticket for values that certainly overspend.
func (s scope) segmentRules(labels map[string]string) (rules []Rule) {
	long, short := scaled(segmentLong, budgetWindow(s.file)), scaled(segmentShort, budgetWindow(s.file))
	for _, d := range s.file.Dimensions {
		if d.Alert != slo.AlertTicket {
			continue
		}
		by := s
		by.dimension = d.Name
		own := maps.Clone(labels)
		delete(own, d.Name) // of the file's labels, one of that name would take its place
		rules = append(rules, Rule{Record: by.memory(), Expr: by.state(), Labels: identityLabels(s.file)})
		for _, w := range []time.Duration{short, long} {
			rules = append(rules, Rule{Record: by.recordIncrease(w), Expr: by.increase(w), Labels: own})
		}
		for i := range s.file.SLOs {
			if o := &s.file.SLOs[i]; o.CountsRuns() && o.Alert != slo.AlertNone {
				rules = append(rules, by.segmentBurn(o, d, long, short))
			}
		}
	}
	return rules
}

func (s scope) recordIncrease(w time.Duration) string {
	return "agentslo:events_by_" + s.dimension + ":increase" + Duration(w)
}

func (s scope) segmentBurn(o *slo.Objective, d slo.Dimension, long, short time.Duration) Rule {
	count := func(verdict slo.Verdict, w time.Duration) string {
		return s.one(identity(s.recordIncrease(w), s.file, o).equal(LabelVerdict, verdict.String()))
	}
	bad, good := count(slo.Bad, long), count(slo.Good, long)
	budget := o.JudgedBudget()
	ratio := fmt.Sprintf("%s / clamp_min(%s + %s, 1)", bad, bad, good)
	// Still failing, or without an event lately that says otherwise.
	expr := fmt.Sprintf(`%[1]s > %[2]s
and
%[3]s >= 2
and
%[3]s * ln(clamp_min((%[1]s) / %[2]s, 1)) + %[4]s * ln(clamp_max(clamp_min(1 - (%[1]s), 1e-18) / %[5]s, 1)) > %[6]s
and
%[7]s >= (%[7]s + %[8]s) * %[9]s`,
		ratio, budget, bad, good, decimal.NewFromInt(1).Sub(budget), segmentEvidence(s.file, o, d),
		count(slo.Bad, short), count(slo.Good, short), budget.Div(decimal.NewFromInt(2)))

	labels := alertLabels(s.file, o, SeverityTicket)
	delete(labels, d.Name)
	labels["tier"] = "segment"
	if d.Name != LabelDimension {
		labels[LabelDimension] = d.Name
	}
	value := d.Name + " {{ $labels." + d.Name + " }}"
	notes := s.links(o)
	notes["summary"] = literal(s.name(o)) + ", " + value + ": {{ $value | humanizePercentage }} of its " + eventsOf(o) + " in the last " + Duration(long) + " were bad; the objective allows " + percent(o.Budget())
	notes["description"] = literal(objective(o)) + "For " + value + " it is missed by more than chance, whatever it is for all together. `sloctl budget --by " + d.Name + "` has the numbers."
	return Rule{Alert: AlertSegmentBurn, Expr: expr, KeepFiringFor: model.Duration(segmentKeepFiring), Labels: labels, Annotations: notes}
}

// segmentEvidence is what one value of a dimension must bring, in nats: what the
// SLO's own tickets ask for, and ln(values) more, so that by chance all values
// together raise no more of them than one series does.
func segmentEvidence(f *slo.File, o *slo.Objective, d slo.Dimension) decimal.Decimal {
	values := decimal.NewFromFloat(math.Log(float64(d.Keep + 1)))
	return evidenceNeeded(f, o, SeverityTicket).Add(values.Mul(dispersion(f))).Round(2)
}
