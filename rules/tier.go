package rules

import (
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Severities of alerts.
const (
	SeverityPage   = "page"
	SeverityTicket = "ticket"
)

// Tier is one burn alert of an SLO. It fires while the long window's error
// ratio is above Threshold and its evidence above Evidence, and the newest
// events agree.
type Tier struct {
	Name     string        // stable: label tier
	Severity string        // page or ticket
	Long     time.Duration // the window whose events are judged
	Short    time.Duration // the window that must still be failing
	// Grow are the windows that stand in for Short, in this order, while it holds
	// no event. The last one is Long: after it, nothing is failing any more.
	Grow []time.Duration

	Burn          decimal.Decimal // how many times the tolerated error ratio; before the cap
	Threshold     decimal.Decimal // error ratio, above 0 and below 1
	BurnThreshold decimal.Decimal // Threshold as a burn rate
	Evidence      decimal.Decimal // log-likelihood ratio in nats

	// ShortThreshold is the error ratio above which the short window is still
	// failing: half of Threshold, for few events are in it. ShortEvidence is the
	// evidence in nats that it must hold as well, so that after a recovery the one
	// failure that the budget allows does not bring the page back.
	ShortThreshold, ShortEvidence decimal.Decimal
	// KeepFiring is for how long the alert goes on after that is over, so that a
	// good run among failing ones does not end one page and begin another.
	KeepFiring time.Duration

	// BudgetShare of the whole window's budget is spent when Long has burnt at
	// BurnThreshold throughout.
	BudgetShare decimal.Decimal
}

// tierRow is a tier for a window of 30 days. Burn rates are those of the SRE
// workbook, chapter 5: share × window / long.
type tierRow struct {
	name, severity string
	long, short    time.Duration
	keep           time.Duration // firing
	share          string        // of the budget, spent within long
}

// tierRows has all tiers: a new one is a row.
var tierRows = []tierRow{
	{"page_fast", SeverityPage, 1 * time.Hour, 5 * time.Minute, 30 * time.Minute, "0.02"},
	{"page_slow", SeverityPage, 6 * time.Hour, 30 * time.Minute, 1 * time.Hour, "0.05"},
	{"ticket_fast", SeverityTicket, 24 * time.Hour, 2 * time.Hour, 1 * time.Hour, "0.1"},
	{"ticket_slow", SeverityTicket, 72 * time.Hour, 6 * time.Hour, 3 * time.Hour, "0.1"},
}

// EvidenceNeeded is the log-likelihood ratio above which a window's events are
// believed, in nats: at 8 they are e^8 ≈ 3000 times likelier under the error
// ratio seen than under the tolerated one. It is the smallest at which no more
// than 0.3 false pages a month were measured at exactly the budget, see README.md.
var EvidenceNeeded = decimal.NewFromInt(8)

// ticketDiscount is how much less evidence a ticket needs, in nats: a false one
// costs a look in the morning, and slow burns of sparse agents take days to
// bring each nat.
var ticketDiscount = decimal.NewFromInt(2)

// stillFailing is the most evidence that the short window is asked for, in nats.
var stillFailing = decimal.NewFromInt(1)

// measuredAt is the number of false pages an SLO may have in 30 days for which
// EvidenceNeeded was measured.
const measuredAt = 0.3

// leastEvidence bounds what a generous allowance may do: at 3 nats a window is
// 20 times likelier under the error ratio seen.
var leastEvidence = decimal.NewFromInt(3)

// evidenceNeeded is the evidence for which the SLO's share of the file's
// alerting.false_pages is not exceeded. The allowance is one for the whole file,
// so that sixty SLOs do not page sixty times as often as one. The chance that
// runs within budget reach a likelihood ratio of e^h falls as e^-h (Wald's
// bound), so a share that is e times smaller takes one nat more. It is never
// less than a single failure alone would be, whose likelihood ratio is 1/b.
func evidenceNeeded(f *slo.File, o *slo.Objective, severity string) decimal.Decimal {
	need := EvidenceNeeded
	if severity == SeverityTicket {
		need = need.Sub(ticketDiscount)
	}
	if allowed, _ := f.Alerting.FalsePages.Float64(); allowed > 0 {
		share := allowed / float64(max(paging(f), 1))
		need = need.Add(decimal.NewFromFloat(math.Log(measuredAt / share)).Round(1))
	}
	need = decimal.Max(need, leastEvidence, decimal.NewFromFloat(alone(o)).RoundCeil(1))
	return need.Mul(dispersion(f)).Round(2)
}

// dispersion multiplies the evidence asked for: where counts vary φ times as
// much as those of independent runs, a likelihood ratio says only 1/φ as much
// (quasi-likelihood, Wedderburn 1974).
func dispersion(f *slo.File) decimal.Decimal {
	return decimal.Max(f.Alerting.Dispersion, decimal.NewFromInt(1))
}

// alone is the evidence of a window that holds one failure and nothing else, in nats.
func alone(o *slo.Objective) float64 { return -math.Log(o.JudgedBudget().InexactFloat64()) }

// paging is how many of the file's SLOs may page.
func paging(f *slo.File) (n int) {
	for i := range f.SLOs {
		if a := f.SLOs[i].Alert; a == slo.AlertPage || a == "" {
			n++
		}
	}
	return n
}

// thresholdCap bounds every threshold, so that an agent that fails half of its
// runs is always above it: at an objective of 90% a burn rate of 14.4 would be
// an error ratio of 1.44.
var thresholdCap = decimal.RequireFromString("0.4")

const tierWindow = 30 * 24 * time.Hour

// lengths are the windows that scaled tiers are rounded to.
var lengths = []time.Duration{
	2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	1 * time.Hour, 90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, 18 * time.Hour,
	1 * day, 2 * day, 3 * day, 4 * day, 6 * day, 9 * day, 12 * day, 18 * day, 27 * day, 36 * day,
}

const day = 24 * time.Hour

// scaled is a length for a window of 30 days, carried over to another window.
func scaled(length, window time.Duration) time.Duration {
	want := float64(length) * float64(window) / float64(tierWindow)
	best := lengths[0]
	for _, l := range lengths {
		if distance(float64(l), want) < distance(float64(best), want) {
			best = l
		}
	}
	return best
}

func distance(a, b float64) float64 { return max(a/b, b/a) }

// Tiers lists the burn alerts of an SLO, pages first. An SLO with `alert:
// ticket` has only the ticket tiers, one with `alert: none` has none. A nil
// Objective has none either.
func Tiers(f *slo.File, o *slo.Objective) []Tier {
	if o == nil || o.Alert == slo.AlertNone {
		return nil
	}
	var tiers []Tier
	for _, row := range tierRows {
		if row.severity == SeverityPage && o.Alert == slo.AlertTicket {
			continue
		}
		tiers = append(tiers, row.tier(f, o))
	}
	return tiers
}

// Burns says whether the tier's condition holds for what is counted within the
// windows: good and bad events of each.
func (t Tier) Burns(o *slo.Objective, within func(window time.Duration) (good, bad float64)) bool {
	good, bad := within(t.Long)
	if !exceeds(o, good, bad, t.Threshold) || o.Evidence(good, bad) <= t.Evidence.InexactFloat64() {
		return false
	}
	for _, w := range append([]time.Duration{t.Short}, t.Grow...) {
		if good, bad := within(w); good+bad > 0 {
			return t.StillFailing(o, good, bad)
		}
	}
	return false
}

// StillFailing says whether the events of the short window, or of the one that
// stands in for it, keep the tier's condition true.
func (t Tier) StillFailing(o *slo.Objective, good, bad float64) bool {
	return exceeds(o, good, bad, t.ShortThreshold) && o.Evidence(good, bad) > t.ShortEvidence.InexactFloat64()
}

func exceeds(o *slo.Objective, good, bad float64, ratio decimal.Decimal) bool {
	return good+bad > 0 && o.ErrorRatio(good, bad) > ratio.InexactFloat64()
}

func (row tierRow) tier(f *slo.File, o *slo.Objective) Tier {
	window := budgetWindow(f)
	t := Tier{
		Name: row.name, Severity: row.severity,
		Long: scaled(row.long, window), Short: scaled(row.short, window),
		Evidence: evidenceNeeded(f, o, row.severity), KeepFiring: scaled(row.keep, window),
	}
	// Below 1 the budget is not overspent, however many of these windows there are.
	windowInLongs := decimal.NewFromInt(int64(window / time.Second)).Div(decimal.NewFromInt(int64(t.Long / time.Second)))
	t.Burn = decimal.Max(decimal.RequireFromString(row.share).Mul(windowInLongs).Round(4), decimal.NewFromInt(1))
	t.Threshold = decimal.Min(t.Burn.Mul(o.Budget()), thresholdCap)
	t.ShortThreshold = t.Threshold.Div(decimal.NewFromInt(2))
	t.ShortEvidence = decimal.Min(stillFailing, decimal.NewFromFloat(alone(o)/2)).Round(2) // one failure and nothing else is still failing
	t.BurnThreshold = t.Threshold.Div(o.Budget()).Round(4)
	t.BudgetShare = t.BurnThreshold.Div(windowInLongs).Round(4)
	for _, l := range recordedLengths(window) {
		if l > t.Short && l <= t.Long {
			t.Grow = append(t.Grow, l)
		}
	}
	return t
}

// Windows lists the windows over which the series of a file are recorded,
// shortest first; the last is the window of the error budget, which may be a
// calendar period: see [WindowName].
func Windows(f *slo.File) []time.Duration {
	window := budgetWindow(f)
	return append(recordedLengths(window), window)
}

// recordedLengths has the windows of all tiers, whichever of them an SLO uses:
// dashboards and the gate then find the same series for every SLO.
func recordedLengths(window time.Duration) []time.Duration {
	var all []time.Duration
	for _, row := range tierRows {
		all = append(all, scaled(row.long, window), scaled(row.short, window))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// budgetWindow is the length of the error budget's window. A calendar window
// has that of a usual one, and its tiers; its records go by [WindowName].
func budgetWindow(f *slo.File) time.Duration {
	if f == nil {
		return tierWindow
	}
	switch f.Window.Calendar {
	case "week":
		return 7 * day
	case "quarter":
		return 90 * day
	case "month":
		return tierWindow
	}
	if f.Window.Rolling == 0 {
		return tierWindow
	}
	return f.Window.Rolling
}
