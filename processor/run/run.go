// Package run assembles facts of spans into runs: identity, completion,
// deduplication, expiry and checkpoint. It knows no attribute names, no SLI
// and no Collector component.
package run

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// Completion says why a run was handed on.
type Completion string

const (
	RootEnded  Completion = "root_ended"   // its root ended and nothing came for the quiet period
	Idle       Completion = "idle_timeout" // no root, and nothing came for the idle timeout
	MaxAge     Completion = "max_age"
	MaxSpans   Completion = "max_spans"
	Evicted    Completion = "evicted" // released early by the memory bound
	EndOfInput Completion = "end_of_input"
	Shutdown   Completion = "shutdown"
)

// Run is one piece of work that an agent was asked to do, as its telemetry
// tells it. A fact that the telemetry does not carry is nil or -1, never zero.
type Run struct {
	// ID is the run's identity: a hash of its run id where the framework gives
	// one, else of (trace id, root span id). The same spans give the same ID in
	// any order and batching.
	ID         [16]byte
	RunID      string          // as the framework gives it, or ""
	TraceID    pcommon.TraceID // of the root; of the first span when there is none
	RootSpanID pcommon.SpanID  // zero when there is no root
	Completion Completion

	Service, Environment, Agent string
	Agents                      []string          // every agent that took part, the root's first
	Attributes                  map[string]string // those that files ask for
	// ResourceAttributes are those of them that resources carry. They are kept
	// apart only where a file has a dimension of a resource.
	ResourceAttributes map[string]string

	HasRoot    bool
	Start, End uint64 // Unix nanoseconds: the root's, or the extent of the spans
	// Seconds is root start to root end less waits for a person; nil without a root.
	Seconds *float64
	// SoFar is a lower bound of the duration in seconds: the extent of what was seen.
	SoFar          float64
	RootEndedEarly bool     // work went on for more than a second after the root: Seconds is the extent
	FirstToken     *float64 // seconds

	Outcome       slo.Outcome
	OutcomeReason string // such as paused, max_turns, root_ended_early

	// CallerLeft is when the caller went away, Unix nanoseconds, as a span above
	// the root or the root itself says; 0 not said.
	CallerLeft uint64
	// TimedOut is when a server above the root gave up waiting, likewise.
	TimedOut uint64

	ModelCalls *int // nil when there is no model span
	Usage      convention.Usage
	Models     []ModelUsage // by model, in order of first call
	CostUSD    *float64     // nil when not known whole
	KnownUSD   float64      // the part that is known; a lower bound of the cost

	// Spend is what the model calls took, in order of start.
	Spend []Spend
	// Faults are the model calls that failed for trouble at their provider, in
	// order of start, and Failovers how many of them were followed by a call to
	// another model or provider.
	Faults    []ProviderFault
	Failovers int
	// EndedByProvider: such a call was the last thing that an error ended.
	EndedByProvider bool

	Checks Checks

	// Tools are the executed tool calls in order of start, of every role.
	Tools []ToolCall
	// Unseen counts tool calls that a model asked for and went on from, of which
	// there is no span: whether they ran is not known.
	Unseen     int
	Retrievals []Retrieval // retrieval spans; calls of retrieval tools are in Tools
	// Invocations are the work of sub-agents in order of start. They are looked
	// for only where the file has an SLO of scope agent.
	Invocations []Invocation
	// Blocker is the first permanent failure that nothing got round; nil when
	// there is none.
	Blocker *Blocker
	// FirstWrong is the first step that went wrong; nil when none did.
	FirstWrong *FirstWrong
	// ToolsOffered: some model call was offered tools; nil when not said.
	ToolsOffered *bool
	// ContentCaptured is false when arguments and results were not captured.
	ContentCaptured bool

	Evaluations []convention.Evaluation
	// Sources say where the facts come from; only with [Settings.Sources].
	Sources []Fact
	Spans   int
	// Sampling is the probability that each span was kept, from tracestate; 0 not said.
	Sampling float64
	// Biased: the run's spans were kept with different probabilities, or by a
	// tail sampler, so that runs are not counted alike.
	Biased bool
}

// ModelUsage is what one model was used for.
type ModelUsage struct {
	Model   string
	Calls   int
	Usage   convention.Usage
	CostUSD *float64 // explicit, or price × tokens; nil when not known
}

// ProviderFault is a model call that failed for trouble at its provider, from
// its start to its end, or to the start of the next try.
type ProviderFault struct {
	Model      string
	Fault      convention.ProviderFault
	Start, End uint64
}

// Spend is what one model call took.
type Spend struct {
	Message    uint64 // as [ToolCall.Message] of the calls that it asked for
	Start, End uint64
	Tokens     int64   // input and output; convention.Unknown when not carried
	USD        float64 // NaN when not known
}

// Role is what a tool call is to the run.
type Role uint8

const (
	Evidence   Role = iota // an ordinary tool that consulted something
	Answer                 // it is the answer
	NotCounted             // handoffs, routing, merged spans, thinking
	Delegation             // a sub-agent: its own calls are the evidence
	Counted                // an ordinary tool, but no evidence (think, todo …)
)

// ToolCall is one executed call.
type ToolCall struct {
	Name  string
	Agent string // that called it
	Role  Role
	// Retrieval: the file names it as a retrieval tool.
	Retrieval bool
	// Message identifies the model message that asked for it; 0 not known.
	// Identical calls of one message are one.
	Message uint64
	// CallID is the hash of the tool call id, Response that of the response id of
	// the model's reply that asked for the call; 0 not known. Trace says in which
	// of the run's traces it is: a resumed run has several.
	CallID, Response uint64
	Trace            int

	HasArgs, HasResult     bool
	ArgsHash, ResultHash   uint64
	ArgsEmpty, ResultEmpty bool
	Like                   convention.Likeness  // to other calls; empty unless a file asks for it
	Findings               []convention.Finding // what files ask of the arguments
	Class                  convention.Class     // ClassNone: it succeeded
	Persistence            Persistence          // of the failure
	// doubtful: Persistence is Intermittent, and hinges on arguments that are not
	// captured.
	doubtful   bool
	Unfinished bool // cut short: neither result nor failure
	// ByMessage: no span shows the call, only the messages of the model calls
	// before and after it. SpanID is then the one that asked for it.
	ByMessage  bool
	Start, End uint64
	SpanID     pcommon.SpanID
}

// Failed says whether the call failed.
func (t *ToolCall) Failed() bool { return t.Class != convention.ClassNone }

// Succeeded says whether the call came to its end without a failure.
func (t *ToolCall) Succeeded() bool { return !t.Failed() && !t.Unfinished }

// Retrieval is one retrieval span.
type Retrieval struct {
	Documents  int64 // convention.Unknown when not carried
	Failed     bool
	Start, End uint64
}
