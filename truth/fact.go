package truth

import (
	"slices"
	"strconv"
	"strings"
)

// Null is a fact that derive reports as JSON null: not carried, not known.
const Null = "null"

// Fact is one thing that derive says of a run, and what it should be.
type Fact struct {
	Name string // as in derive's JSON: outcome, tokens.input, slo.cost …
	// Want is what truly happened; alternatives that say the same are separated by |.
	Want string
	// Within is a numeric interval instead of Want; nil for facts compared as text.
	Within *Interval
	// Accept lists what else the telemetry allows a reader to say: less than
	// the truth, never something else.
	Accept []Accept
}

// Interval is a closed interval of numbers.
type Interval struct{ Low, High float64 }

// Accept is a value that says less than the truth, and why no more is carried.
type Accept struct {
	Value string
	// Within is a numeric interval instead of Value.
	Within *Interval
	Why    string
}

// Grade is how a derived value stands to the truth.
type Grade int

const (
	// Right: it is the truth.
	Right Grade = iota
	// RightUnknown: it says unknown, and the telemetry does not carry the fact.
	RightUnknown
	// Less: it is what the telemetry carries, which is less than the truth.
	Less
	// Unexplained: it says unknown although the telemetry carries the fact.
	Unexplained
	// Wrong: it contradicts the truth.
	Wrong
)

func (g Grade) String() string {
	return [...]string{"right", "right as unknown", "less", "unknown", "WRONG"}[g]
}

// Agrees says whether the grade counts as agreement with the truth.
func (g Grade) Agrees() bool { return g == Right || g == RightUnknown }

// Judge grades a derived value and says why it may be less than the truth.
func (f *Fact) Judge(got string) (Grade, string) {
	if matches(got, f.Want, f.Within) {
		return Right, ""
	}
	for _, a := range f.Accept {
		if !matches(got, a.Value, a.Within) {
			continue
		}
		if isUnknown(got) {
			return RightUnknown, a.Why
		}
		return Less, a.Why
	}
	if isUnknown(got) {
		return Unexplained, ""
	}
	return Wrong, ""
}

func matches(got, want string, within *Interval) bool {
	if within != nil {
		value, err := strconv.ParseFloat(got, 64)
		return err == nil && value >= within.Low && value <= within.High
	}
	for alternative := range strings.SplitSeq(want, "|") {
		if got == alternative {
			return true
		}
	}
	return false
}

// isUnknown: a failure without a class is known to have failed, and no more.
func isUnknown(value string) bool {
	return value == Null || value == "unknown" || strings.HasPrefix(value, "unclassified:")
}

// Wanted is the expectation as text.
func (f *Fact) Wanted() string {
	if f.Within == nil {
		return f.Want
	}
	return f.Within.String()
}

// String is the interval, or its middle if it only allows for rounding.
func (i *Interval) String() string {
	middle := (i.Low + i.High) / 2
	if i.High-i.Low <= 3e-6*middle {
		return number(middle)
	}
	return number(i.Low) + "…" + number(i.High)
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

// Expected is what should be read from one recording.
type Expected struct {
	Name  string // framework/variant
	Files []string
	// Framework is the emitter's row in [Emitters], or "" for a public dump.
	Framework string
	// Unread says why nothing may be read: the emitter's convention is none that must be known.
	Unread string
	// NoRun says why there is no run, where there is none.
	NoRun string
	Runs  []ExpectedRun
}

// ExpectedRun is one run that should be read, in order of start.
type ExpectedRun struct {
	Why   string // one line of reasoning
	Facts []Fact
}

// Fact is the run's fact of that name, or nil.
func (r *ExpectedRun) Fact(name string) *Fact {
	for i := range r.Facts {
		if r.Facts[i].Name == name {
			return &r.Facts[i]
		}
	}
	return nil
}

// accept adds an acceptable lesser value to the named facts.
func (r *ExpectedRun) accept(value, why string, names ...string) {
	for _, name := range names {
		f := r.Fact(name)
		if f == nil || f.Within == nil && matches(value, f.Want, nil) {
			continue
		}
		if slices.ContainsFunc(f.Accept, func(a Accept) bool { return a.Within == nil && a.Value == value }) {
			continue
		}
		f.Accept = append(f.Accept, Accept{Value: value, Why: why})
	}
}
