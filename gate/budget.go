package gate

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// Status says how an error budget stands.
type Status string

const (
	OK           Status = "ok"
	AtRisk       Status = "at_risk"      // below the policy's resume_above, or used up within three days at the present rate
	Exhausted    Status = "exhausted"    // nothing left
	Insufficient Status = "insufficient" // too few runs, or too many without a verdict, to tell
)

// Budget is the account of one SLO over its window. Ratios are fractions of
// one and exact; a nil one has nothing to be a ratio of.
type Budget struct {
	Service     string
	Environment string
	SLO         string
	Split       *Split // by agent or dimension; nil: the whole SLO
	Objective   Number
	Window      string // as the file names it: 30d, month
	Good, Bad   int64
	Unknown     int64 // should have counted, evidence was missing
	Excluded    int64 // the SLO did not apply
	ErrorRatio  *Number
	Remaining   Number    // 1 − bad/(budget·(good+bad)), at most 1; below 0 is overspent
	Interval    [2]Number // what is left if the true error ratio is anywhere in its 95% Clopper-Pearson interval
	BurnRate    []BurnRate
	// AtLeast is the error ratio that is proven of a part of a split budget, set by
	// [WorstFirst]: the lower one-sided 95% Clopper-Pearson bound, corrected for the
	// number of parts; 0 for less than two bad events, nil where it was not asked for.
	AtLeast *Number
	// Predicted is what the success of steps makes of a completion SLO.
	Predicted []Prediction
	// ExhaustedIn is the time in seconds until the failures still allowed are
	// used up at the present rate; 0 when they are, nil when they are not being.
	ExhaustedIn *int64
	Status      Status
	Notes       []string // what the reader of the numbers must know

	file      *slo.File
	objective *slo.Objective
	ledger    ledger
	from, at  time.Time
	doubts    []string // reasons not to go by the numbers
	nameless  string   // there are no counters of this name at all
}

// Split names the part of an SLO's events that a budget is about.
type Split struct{ By, Value string }

// BurnRate is the error ratio of a period over the budgeted one: at 1 the
// budget lasts exactly the window. It is 0 when no run counted in the period.
type BurnRate struct {
	Window string
	Rate   Number
}

// MarshalJSON writes the object that users of -o json rely on.
func (b Budget) MarshalJSON() ([]byte, error) {
	var o object
	b.fields(&o)
	return o.close()
}

func (b Budget) fields(o *object) {
	o.field("service", b.Service)
	o.field("environment", b.Environment)
	o.field("slo", b.SLO)
	if b.Split != nil {
		o.field(b.Split.By, b.Split.Value)
	}
	o.field("objective", b.Objective)
	o.field("window", b.Window)
	o.field("good", b.Good)
	o.field("bad", b.Bad)
	o.field("unknown", b.Unknown)
	o.field("excluded", b.Excluded)
	o.field("error_ratio", b.ErrorRatio)
	if b.AtLeast != nil {
		o.field("error_ratio_at_least", b.AtLeast)
	}
	o.field("budget_remaining", b.Remaining)
	o.field("budget_interval", b.Interval)
	var burn object
	for _, r := range b.BurnRate {
		burn.field(r.Window, r.Rate)
	}
	o.field("burn_rate", &burn)
	o.field("exhausted_in_seconds", b.ExhaustedIn)
	o.field("status", b.Status)
	if len(b.Predicted) > 0 {
		o.field("predicted", b.Predicted)
	}
	if len(b.Notes) > 0 {
		o.field("notes", b.Notes)
	}
}

// object is a JSON object whose keys keep their order.
type object struct {
	buffer bytes.Buffer
	err    error
}

func (o *object) field(name string, value any) {
	key, _ := json.Marshal(name)
	data, err := json.Marshal(value)
	if err != nil && o.err == nil {
		o.err = err
	}
	if o.buffer.Len() > 0 {
		o.buffer.WriteByte(',')
	}
	o.buffer.Write(key)
	o.buffer.WriteByte(':')
	o.buffer.Write(data)
}

func (o *object) close() ([]byte, error) {
	return append(append([]byte{'{'}, o.buffer.Bytes()...), '}'), o.err
}

// MarshalJSON closes the object.
func (o *object) MarshalJSON() ([]byte, error) { return o.close() }
