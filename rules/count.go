package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// State is the record that counts events; see the package comment.
const State = "agentslo:events:state"

// labelPart tells the kinds of series in [State] apart.
const labelPart = "agentslo_part"

// Interval is how often the rules are to be evaluated. A shorter one is fine.
const Interval = time.Minute

// ForgetAfter is how many evaluations an exporter series is remembered for
// once its last sample is out of reach: a day. If it comes back later than that, what it
// counted while it was away is not known, and not counted.
const ForgetAfter = 1440

// absence is what one evaluation without its exporter series adds to a seen
// value. Sums of it are exact in a float64 beside counts up to 2^39.
const absence = "0.00006103515625" // 1/16384

// forgotten is ForgetAfter × absence.
const forgotten = "0.087890625"

const (
	// lookBack is where a recorded value is looked for if the newest one is
	// missing because recording was interrupted. With a step of the lookback of an
	// instant selector, 5 minutes, it finds the very last one before the hole.
	lookBack = "12h:5m"
	// lookFar is for what must never be forgotten, after longer interruptions.
	lookFar = "32d:2h"
	// lookFarAtStart is lookFar for the start of a window: there, a hole of half a
	// day or more makes the last few hours before it no worse.
	lookFarAtStart = "32d:6h"
	// reach is how far back the newest sample of an exporter series may lie.
	reach = "40m"
	// bornWithin is how far back the first sample of a new exporter series is
	// looked for. Its zero may be there for a minute, or for one sample only.
	bornWithin = "1h"
)

// scope is what the rules of one file select and aggregate by.
type scope struct {
	file *slo.File
	// shared says that other files have the same service, so that the SLOs must
	// be named to tell the files' series apart.
	shared bool
	// otherEnvironments belong to other files of the same service and SLOs. Only
	// for a file without an environment.
	otherEnvironments []string
	// dimension is the label by which events are counted besides, of the exporter's
	// counters that split them by it; "": of those of all events.
	dimension string
}

func newScope(set *slo.Set, f *slo.File) scope {
	s := scope{file: f}
	for _, other := range set.Files {
		if other == f || other.Service != f.Service {
			continue
		}
		s.shared = true
		both := slices.ContainsFunc(f.SLOs, func(o slo.Objective) bool { return other.Objective(o.Name) != nil })
		if both && f.Environment == "" {
			s.otherEnvironments = append(s.otherEnvironments, other.Environment)
		}
	}
	slices.Sort(s.otherEnvironments)
	s.otherEnvironments = slices.Compact(s.otherEnvironments)
	return s
}

// key lists the labels that tell a file's recorded series apart, beside a
// verdict. The rules of a file set the others themselves.
func (s scope) key() string {
	if s.dimension != "" {
		return s.dimension + ", " + LabelSLO
	}
	if s.byAgent() {
		return LabelAgent + ", " + LabelSLO
	}
	return LabelSLO
}

func (s scope) byAgent() bool {
	return s.dimension == "" && slices.Contains(s.file.By, LabelAgent)
}

// counted are the labels that exporter series are summed by. A file without an
// environment counts over all of them.
func (s scope) counted() string {
	key := s.key() + ", " + LabelService + ", " + LabelVerdict
	if s.file.Environment != "" {
		key += ", " + LabelEnvironment
	}
	return key
}

// events selects the exporter's counters, or their state.
func (s scope) events(metric string) selector {
	sel := s.ofRuns(raw(metric, s.file, nil))
	if s.shared && len(s.ratios()) == 0 {
		sel = named(sel, objectives(s.file))
	}
	if len(s.otherEnvironments) > 0 {
		sel = sel.noneOf(LabelEnvironment, s.otherEnvironments)
	}
	return sel
}

// recorded selects a recorded series of all the file's SLOs.
// Other files of the service record their own.
func (s scope) recorded(metric string) selector {
	sel := identity(metric, s.file, nil)
	if s.shared {
		sel = named(sel, objectives(s.file))
	}
	return sel
}

// state counts: the one rule with a memory.
func (s scope) state() string {
	events := s.events(s.counter()).String()
	state := s.events(s.memory())
	seen := state.equal(labelPart, "seen").String()
	total := state.equal(labelPart, "total").String()

	// The state before this evaluation. Both parts are taken from one instant,
	// so that they belong together: the short look fails for both or for none.
	seenBefore := fmt.Sprintf("(%[1]s offset 1ms or (last_over_time(%[1]s[%[2]s] offset 1ms) unless on (%[3]s) %[4]s offset 1ms))",
		seen, lookBack, LabelSLO, total)
	totalBefore := fmt.Sprintf("%[1]s offset 1ms or last_over_time(%[1]s[%[2]s] offset 1ms) or last_over_time(%[1]s[%[3]s] offset 1ms)",
		total, lookBack, lookFar)

	// The newest sample, even if its target has gone since and evaluations were
	// missed meanwhile.
	now := fmt.Sprintf("last_over_time(%s[%s])", events, reach)
	base := fmt.Sprintf("max without (%s) (floor(%s))", labelPart, seenBefore)
	// After a reset: all of the new life, and of the old one what it reached after
	// it was last seen. That range is no longer than the interval, so that it
	// holds no earlier life.
	peak := fmt.Sprintf("max_over_time(%s[%s])", events, Duration(Interval))
	reset := fmt.Sprintf("%s + clamp_min(%s - %s, 0)", now, peak, base)
	// A reset shows as a value below what was seen. One that shows only as a value
	// below the range's peak may have been counted before, unless this is the
	// first evaluation for as long as the range.
	lately := fmt.Sprintf("last_over_time(%s[%s] offset 1ms)", total, Duration(Interval-10*time.Second))
	hidden := fmt.Sprintf("%s > %s unless on (%s) %s", peak, now, LabelSLO, lately)
	birth := fmt.Sprintf("min_over_time(%s[%s])", events, bornWithin)

	var zeros []string
	if !s.byAgent() && s.dimension == "" {
		for _, v := range slo.Verdicts {
			zero := fmt.Sprintf("0 * %s", s.ofRuns(s.recorded("agentslo:objective:ratio")))
			zeros = append(zeros, "or\n    "+labelled(zero, LabelVerdict, v.String()))
		}
	}
	return fmt.Sprintf(`label_replace(
  %[1]s,
  "%[2]s", "seen", "", ""
)
or
(
  %[3]s
  unless
  %[4]s offset 1ms %% 1 >= %[5]s
) + %[6]s
or
label_replace(
  sum by (%[7]s) (
    (
      %[10]s
      and
      (%[15]s)
    )
    or
    (
      %[1]s
      -
      (
        %[8]s
        or
        %[9]s
      )
      >= 0
    )
    or
    (
      %[10]s
    )
    or
    %[1]s
    or
    %[11]s
    %[12]s
  )
  and on (%[13]s) %[14]s,
  "%[2]s", "total", "", ""
)`, now, labelPart, seenBefore, seen, forgotten, absence, s.counted(), base, birth, reset, totalBefore, strings.Join(zeros, "\n    "),
		LabelSLO, s.recorded("agentslo:objective:ratio"), hidden)
}

// increase is how many events were counted within the window: total now less
// total at its start, which is 0 if the SLO is younger.
func (s scope) increase(window time.Duration) string {
	return s.countedWithin(s.events(s.memory()).equal(labelPart, "total"), window)
}

func (s scope) countedWithin(total selector, window time.Duration) string {
	if s.calendar() && window == budgetWindow(s.file) {
		return sinceWindowStart(total)
	}
	return fmt.Sprintf(`max without (%[1]s) (
  clamp_min(
    %[2]s
    -
    (
      %[2]s offset %[3]s
      or
      last_over_time(%[2]s[%[4]s] offset %[3]s)
      or
      last_over_time(%[2]s[%[5]s] offset %[3]s)
      or
      0 * %[2]s
    ),
    0
  )
)`, labelPart, total.String(), Duration(window), lookBack, lookFarAtStart)
}

// verdicts is the recorded number of events with that verdict in the window, of
// every SLO whose verdicts are taken as they are.
func (s scope) verdicts(v slo.Verdict, window time.Duration) string {
	return s.one(s.unjudged(s.recorded(recordIncrease(s.file, window)).equal(LabelVerdict, v.String())))
}

// one reduces a recorded series to the labels that identify it: for a few
// minutes after a label of the file was changed there may be two of it.
func (s scope) one(sel selector) string { return fmt.Sprintf("max by (%s) (%s)", s.key(), sel) }

// times combines an expression over the file's key with a series of its SLOs.
func (s scope) times(operator string, sel selector) string {
	if s.byAgent() {
		operator += " on (" + LabelSLO + ") group_left ()"
	}
	return fmt.Sprintf("%s max by (%s) (%s)", operator, LabelSLO, sel)
}

func (s scope) errorRatio(window time.Duration) string {
	// Counts are whole numbers: without events this is 0/1, not 0/0.
	return fmt.Sprintf(`%s
/
clamp_min(
  %s
  +
  %s,
  1
)`, s.verdicts(slo.Bad, window), s.verdicts(slo.Bad, window), s.verdicts(slo.Good, window))
}

func (s scope) burnRate(window time.Duration) string {
	return s.one(s.recorded(recordErrorRatio(s.file, window))) + "\n" + s.times("/", s.recorded("agentslo:error_budget:ratio"))
}

// evidence is bad·ln(r/b) + good·ln((1−r)/(1−b)), and 0 unless r > b: below b,
// both logarithms are of 1. Where 1−r is 0, so is good: the floor under it only
// keeps the product from being 0·∞.
func (s scope) evidence(window time.Duration) string {
	return fmt.Sprintf(`clamp_min(
  %s
  *
  ln(clamp_min(%s, 1))
  +
  %s
  *
  ln(clamp_max(clamp_min(1 - %s, 1e-18) %s, 1)),
  0
)`,
		s.verdicts(slo.Bad, window), s.one(s.recorded(recordBurnRate(s.file, window))),
		s.verdicts(slo.Good, window), s.one(s.recorded(recordErrorRatio(s.file, window))), s.times("/", s.recorded("agentslo:objective:ratio")))
}

func (s scope) budgetRemaining() string {
	return "1 - " + s.one(s.recorded(recordErrorRatio(s.file, budgetWindow(s.file)))) + "\n" + s.times("/", s.recorded("agentslo:error_budget:ratio"))
}

// coverageWindow is the window over which it is judged how much is not counted.
func coverageWindow(f *slo.File) time.Duration { return scaled(24*time.Hour, budgetWindow(f)) }

// uncounted is the share of a window's runs that are unknown or excluded; 0
// when there were none.
func (s scope) uncounted(window time.Duration) string {
	all := s.recorded(recordIncrease(s.file, window))
	return fmt.Sprintf(`sum by (%[1]s) (%[2]s)
/
clamp_min(sum by (%[1]s) (%[3]s), 1)`, s.key(), all.with(LabelVerdict+`=~"unknown|excluded"`), all)
}
