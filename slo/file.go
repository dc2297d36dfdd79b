package slo

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Decimal is an exact decimal number. Ratios are fractions of one (95% is
// 0.95), money is US dollars.
type Decimal = decimal.Decimal

// File is one AgentSLO document after parsing, validation and defaulting.
// It is read-only and safe for concurrent use.
type File struct {
	Path        string // as given on the command line; for messages
	APIVersion  string // agentslo/v1
	Kind        string // AgentSLO
	Service     string
	Environment string            // "" when the file names none: any environment matches
	Agents      []string          // globs over agent names; default ["*"]
	Aliases     map[string]string // old agent name → the label it keeps
	Match       map[string]string // attribute → value that it must equal
	Window      Window
	Labels      map[string]string // added to rules and alerts
	Sampling    Sampling
	Runs        Runs
	Dimensions  []Dimension // sorted by name
	Exclude     []Exclusion
	MaxExcluded Decimal // share of runs, 0 to 1; default 0.2
	Tools       Tools
	Prices      map[string]Price // by model name; wins over the built-in table
	Outcomes    []OutcomeMarker  // further markers, in file order
	SLOs        []Objective      // in file order
	By          []string         // [] or ["agent"]
	Alerting    Alerting
	Policy      Policy

	at positions
}

// Objective returns the SLO of that name, or nil.
func (f *File) Objective(name string) *Objective {
	for i := range f.SLOs {
		if f.SLOs[i].Name == name {
			return &f.SLOs[i]
		}
	}
	return nil
}

// Window is the period of an error budget: rolling, or a calendar period.
type Window struct {
	Rolling  time.Duration  // 0 for a calendar window
	Calendar string         // "", week, month or quarter
	Location *time.Location // of a calendar window; UTC by default
	Name     string         // as recorded rules and tables name it: 30d, month
}

// Sampling says how spans were sampled before they reach the processor.
type Sampling string

const (
	SamplingNone    Sampling = "none"
	SamplingUniform Sampling = "uniform"
)

// RunRoot says what makes a run.
type RunRoot string

const (
	RootAgent RunRoot = "agent" // the topmost agent span
	RootTrace RunRoot = "trace" // a whole trace, if it has no agent span
)

// Runs says where a run begins and when it is over.
type Runs struct {
	Root        RunRoot
	Key         []string      // attributes whose value joins traces into one run
	QuietPeriod time.Duration // silence after the root's end that completes a run; default 10s
	IdleTimeout time.Duration // silence that completes a run without a root; default 1h
	MaxAge      time.Duration // default 24h
	MaxSpans    int           // default 100000
}

// Dimension is one attribute that splits an extra family of event counters.
type Dimension struct {
	Name      string // label name
	Attribute string // or the key of the baggage entry
	Keep      int    // newest values kept; the others fold into [OverflowValue]
	Source    Source
	// Alert is [AlertTicket] where a single value may raise a ticket; "" and
	// [AlertNone]: none does.
	Alert Alert
}

// Source says where a dimension's value is looked for.
type Source uint8

const (
	FromAttribute Source = iota // attributes of spans, then of their resources
	FromBaggage                 // span attributes that are copies of baggage entries
	FromResource                // resource attributes only
)

// baggagePrefix is what some instrumentations put before the key of a baggage
// entry that they copy to spans; others copy it under the key alone.
const baggagePrefix = "baggage."

// AttributeNames are the attributes that may hold the value; the first one that
// is there does.
func (d Dimension) AttributeNames() []string {
	if d.Source == FromBaggage {
		return []string{baggagePrefix + d.Attribute, d.Attribute}
	}
	return []string{d.Attribute}
}

// OverflowValue is the label value for everything above a cap.
const OverflowValue = "__overflow__"

// Exclusion keeps matching runs out of every budget and counts them apart. A
// run that lacks a fact or attribute that When needs ([ErrUnknown]) does not
// match: nobody marks the traffic that is not synthetic.
type Exclusion struct {
	Name string
	When *Program
}

// Tools says what the agent's tools are to its SLIs. The lists hold globs.
type Tools struct {
	Expect     Expect
	ExpectWhen *Program // set when Expect is [ExpectCEL]
	Evidence   []string // default ["*"]
	Required   []string
	Answer     []string // with the built-in list, see [File.AnswerTool]
	NotCounted []string // with the built-in list, see [File.NotCountedTool]
	Retrieval  []string
	Write      []string
}

// Expect says whether an answer needs a successful tool call.
type Expect string

const (
	ExpectAlways      Expect = "always"
	ExpectWhenOffered Expect = "when_offered"
	ExpectNever       Expect = "never"
	ExpectCEL         Expect = "cel"
)

// Price is a model's price in US dollars per million tokens. CachedInput and
// CacheWrite are nil where the provider has no price of its own for them:
// such tokens then cost what Input costs.
type Price struct {
	Input, Output           Decimal
	CachedInput, CacheWrite *Decimal
	AsOf                    string // date of the fact, YYYY-MM-DD; built-in table only
}

// OutcomeMarker gives a run that outcome when its expression is true; not when
// it is [ErrUnknown].
type OutcomeMarker struct {
	Outcome Outcome
	When    *Program
}

// Alert says how loud an SLO may be.
type Alert string

const (
	AlertPage   Alert = "page"
	AlertTicket Alert = "ticket"
	AlertNone   Alert = "none"
)

// Objective is one SLO: a kind of SLI, its parameters and its target.
type Objective struct {
	Name      string
	SLI       string  // kind: completion, correctness, …; one of [Kinds]
	Target    Decimal // the objective as a fraction, above 0 and below 1
	Agents    []string
	When      *Program // nil: always
	Alert     Alert
	Line, Col int // where the SLO stands in its file
	// Description is for people, "" when there is none.
	Description string

	// Evaluations, Combine, Wait, ExpectedCoverage and Judge belong to correctness and grounding.
	Evaluations      []Evaluation
	Combine          Combine
	Wait             time.Duration // default 1h
	ExpectedCoverage Decimal       // default 1
	Judge            *Judge        // nil: its verdicts are taken as they are

	Threshold time.Duration  // latency
	Measure   Measure        // latency
	MaxUSD    Decimal        // cost; stuck_after_blocker, where 0 is no bound
	Repeats   int            // no_progress; default 3
	PerTool   map[string]int // no_progress: tool glob → repeats
	Good      *Program       // custom
	Events    *Events        // ratio

	ProviderFaults ProviderFaults // completion, correctness, latency, abstention
	Correct        Decimal        // abstention: share of the answers; 0 not asked for
	Deadline       Deadline       // abandoned_spend
	Grace          time.Duration  // abandoned_spend; default 5s

	// Scope and Tools belong to completion and latency.
	Scope Scope    // default run
	Tools []string // of scope tool: globs over the tools that count; see [Objective.NamesTool]

	MaxRetries      int      // retry_discipline; default 2
	IdempotencyKeys []string // duplicate_effects: names of arguments
	MaxSteps        int      // stuck_after_blocker: model and tool calls; default 10
	TicketTools     []string // handoff: globs, beside the built-in list, see [Objective.TicketTool]
	Fields          []Field  // handoff: what a ticket must say
	Actions         []Action // forbidden_actions
}

// ProviderFaults says whether trouble at a model provider counts against an SLO.
type ProviderFaults string

const (
	// ProviderFaultsBlame: a bad run is bad, whoever is to blame.
	ProviderFaultsBlame ProviderFaults = "blame"
	// ProviderFaultsExclude: a run that is bad only for its provider's trouble is excluded.
	ProviderFaultsExclude ProviderFaults = "exclude"
)

// Deadline is when a run's answer is of no use any more: so long after its
// start, or what an attribute of the run says. The zero value is none.
type Deadline struct {
	After     time.Duration
	Attribute string
}

// CountsRuns says whether the SLO is about runs of agents; a ratio SLO counts
// the events of other services.
func (o *Objective) CountsRuns() bool { return o.SLI != KindRatio }

// CountsRuns says whether any SLO of the file is about runs of agents. A file
// whose SLOs are all ratios has no run.
func (f *File) CountsRuns() bool {
	return slices.ContainsFunc(f.SLOs, func(o Objective) bool { return o.CountsRuns() })
}

// Position is where a key of the file stands, such as Position("tools") or
// Position("slos", "latency", "when"), line and column from 1. It is not ok
// when the file does not have the key.
func (f *File) Position(keys ...string) (line, column int, ok bool) {
	at, ok := f.at.keys[strings.Join(keys, keySeparator)]
	return at[0], at[1], ok
}

// Budget is 1 − objective, the tolerated share of bad events.
func (o *Objective) Budget() Decimal { return decimal.NewFromInt(1).Sub(o.Target) }

// Combine says how the verdicts of several evaluations become one.
type Combine string

const (
	CombineAll   Combine = "all"
	CombineAny   Combine = "any"
	CombineFirst Combine = "first"
)

// Measure says which duration a latency SLO looks at.
type Measure string

const (
	MeasureRun        Measure = "run"
	MeasureFirstToken Measure = "first_token"
)

// Evaluation says which results of one named evaluator pass. At least one of
// the conditions is set.
type Evaluation struct {
	Name               string
	MinScore, MaxScore *Decimal
	GoodLabels         []string
	BadLabels          []string
}

// Alerting configures the generated alerts.
type Alerting struct {
	Runbook      string // template with {{service}}, {{slo}}, {{environment}}
	Dashboard    string // base URL of Grafana, for links
	PageLabels   map[string]string
	TicketLabels map[string]string
	FalsePages   Decimal // tolerated false pages per service in 30 days; default 0.3
	// ExpectedEvery is how often a run completes at least, in whole minutes; 0:
	// nobody knows.
	ExpectedEvery time.Duration
	// Dispersion is how many times more the number of bad runs varies than that of
	// independent runs would, at least 1, the default: failures that come in clumps
	// of m on average (geometric) have 2m − 1.
	Dispersion Decimal
}

// Policy is what the release gate enforces. Both are shares of the budget.
type Policy struct {
	FreezeBelow Decimal // default 0
	ResumeAbove Decimal // default 0.1
}

// Kinds lists the SLI kinds that a file may name.
var Kinds = []string{"completion", "correctness", "latency", "grounding", "cost", "tool_free", "no_progress",
	"abstention", "abandoned_spend",
	"retry_discipline", "duplicate_effects", "stuck_after_blocker", "handoff", "forbidden_actions",
	"custom", KindRatio}

// KindRatio is the kind of an SLO about other services than agents: it counts
// events in any Prometheus counters. The processor and the exporter leave it out.
const KindRatio = "ratio"
