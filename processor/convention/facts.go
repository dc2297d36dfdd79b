// Package convention turns one span or log record into [Facts]: what that
// emitter says of a run, in one vocabulary. Attribute names of telemetry are
// known here and nowhere else. It knows nothing of runs, verdicts or files,
// except which attribute names the files ask for.
package convention

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Kind is what a span is to a run.
type Kind uint8

const (
	// Other: not an AI span (HTTP, queue, database …). It only links its neighbours.
	Other Kind = iota
	// Agent: an agent or workflow span; the topmost one is a run's root.
	Agent
	// Chain: a root only when no agent span is above and AI work is below.
	Chain
	// Step: transparent; its children count as its parent's.
	Step
	// Model: one model call.
	Model
	// Tool: one executed tool call.
	Tool
	// Retrieval: one look-up of documents.
	Retrieval
	// Guardrail: a check of input or output.
	Guardrail
	// Evaluator: a judge's span; it costs the run nothing.
	Evaluator
	// Ignore: noise of a known AI scope (create_agent, pending spans, chunks).
	Ignore
	// Unrecognised: a span of a known AI scope that says nothing usable.
	Unrecognised
	// Note: no span but a log record, which tells more of the span that is its
	// parent, or that has its call id or response id.
	Note
)

// Finish is why a model call, or a run that says so itself, stopped.
type Finish uint8

const (
	FinishNone       Finish = iota // not said
	FinishStop                     // a normal end
	FinishTool                     // it asks for a tool
	FinishLength                   // cut by a token limit
	FinishFiltered                 // content filter
	FinishRefusal                  // the model refuses
	FinishCancelled                // aborted
	FinishHuman                    // waits for a person: interrupt, approval
	FinishLimit                    // turn, step, money or time limit
	FinishNoProgress               // stopped because it went nowhere
	FinishError
	FinishOther // a word that says nothing
)

// Class is the kind of a tool's or a model's failure.
type Class uint8

const (
	ClassNone     Class = iota // no failure
	Transient                  // time-out, rate limit, overload, 5xx, connection
	BadArgs                    // the call was wrong: validation, unknown tool, 400, 422
	Auth                       // 401, 403, permission
	Unrecoverable              // not found, gone, unsupported, quota used up
	Unclassified               // failed, and the text says no more
)

// String is the class's label value.
func (c Class) String() string {
	return [...]string{"ok", "transient", "bad_args", "auth", "unrecoverable", "unclassified"}[c]
}

// Failure is why a span ended badly, beyond its class: what an exception's
// type or text, a status text or a value says.
type Failure uint8

const (
	FailureNone       Failure = iota
	FailureError              // an error like any other
	FailureLimit              // MaxTurnsExceeded, GraphRecursionError, …
	FailureNoProgress         // an explicit stop for want of progress
	FailureCancelled          // abort, cancel, client closed the stream
	FailurePaused             // interrupt for approval; not a failure
	FailureGuardrail          // a tripwire refused
	FailureSchema             // an answer has not the form that was asked for
)

// Point is where a run was put aside and taken up again, as the emitter says.
type Point uint8

const (
	NoPoint    Point = iota
	Checkpoint       // the run's state was kept
	Resumed          // the run was taken up again, nothing says from where
	ResumedAt        // … from a checkpoint
)

// Unknown marks an integer fact that the telemetry does not carry.
const Unknown int64 = -1

// Usage is one span's token counts, each [Unknown] when not carried. Input
// includes cached input and cache writes, Output includes reasoning.
type Usage struct {
	Input, CachedInput, CacheWrite, Output, Reasoning int64
}

// UnknownUsage has no known count.
var UnknownUsage = Usage{Unknown, Unknown, Unknown, Unknown, Unknown}

// Known says whether any count is known.
func (u Usage) Known() bool { return u != UnknownUsage }

// Facts is what one span says. Strings may alias the span's memory: they are
// valid only until the batch is handed on. The zero value is not meaningful;
// use [Facts.Reset].
type Facts struct {
	Kind       Kind
	Convention string // name of the convention that recognised the span, such as otel_genai

	SpanID, ParentID pcommon.SpanID
	Start, End       uint64 // Unix nanoseconds
	// ParentLocal: the OTLP flags say that the parent is in the same process,
	// so that it is still to come (0x100 set, 0x200 clear).
	ParentLocal bool

	// Identity.
	AgentName    string // of this span
	WorkflowName string
	SpanName     string // a name for the root of last resort
	RunID        string // run id that the framework gives; joins traces
	// Placeholder: AgentName, or WorkflowName where there is none, is what the
	// emitter writes when nobody gave a name, such as "Agent Workflow".
	Placeholder bool
	// Nested: the emitter says that this Agent span is below another one.
	Nested bool
	// Tentative is the kind that the span's name alone suggests when neither
	// scope nor attributes say whose span it is; Kind is then Other. It counts
	// only if another span of the same trace has the convention TentativeOf:
	// see [Facts.Confirm].
	Tentative   Kind
	TentativeOf string

	// Model calls, and usage that agents repeat.
	ModelName string
	// Requested and Provider tell apart models as they were asked for and their
	// providers within one run: hashes so short that one pair in 255 is taken for
	// the same; 0 not said.
	Requested, Provider uint8
	ResponseID          uint64 // hash; 0 none. Two spans with the same one are the same call.
	Usage               Usage
	// Lifetime: Usage is a total over the agent object's whole life and must not be used.
	Lifetime   bool
	CostUSD    float64 // NaN when not carried
	FirstToken float64 // seconds; NaN when not carried
	Finish     Finish  // of the model call; on an Agent span, of the run
	// FinishVague: Finish is FinishStop, but this emitter says so of replies that
	// ask for tools too, and the reply itself was not captured.
	FinishVague bool
	// AsksAnswer: one of Asked is an answer tool. Whoever knows the files sets it.
	AsksAnswer bool
	// Outspoken: this emitter always says how a model call ended, so that silence
	// is a call that was cut short.
	Outspoken bool
	// StubAtLimit: this emitter begins one more model call when the limit of calls
	// is reached, and gives it up at once, so that a run without such a stub did
	// not end on that limit.
	StubAtLimit bool
	// MaxSteps: on an Agent span, the number of steps it may take; 0 not said.
	MaxSteps int64
	// HasOutput: on a root, it carries an answer; on a model span, its reply has text.
	HasOutput bool
	// AsksTool: the model's reply asks for at least one tool.
	AsksTool bool
	// Asked are the tool calls that the model's reply asks for, as far as the
	// reply was captured. A call asked for is not a call: some emitters have no
	// span for a call that failed or that never ran.
	Asked []AskedCall
	// ByMessage: this emitter may have no span for a tool call, so that the
	// messages of the model calls tell what became of it.
	ByMessage bool
	// Returned are the results that this model call was given for calls asked for
	// by the message before it. Only read where ByMessage.
	Returned []ReturnedCall
	// AskedCount is the number of Asked, at least 1 where AsksTool; kept where the
	// list is not.
	AskedCount uint8
	// ToolsOffered: 0 not said, 1 none offered, 2 some offered.
	ToolsOffered uint8

	// Tools.
	ToolName  string
	CallID    uint64 // hash of the tool call id; 0 none
	HasArgs   bool   // arguments captured (redaction marks are not)
	ArgsHash  uint64 // of the canonical form
	ArgsEmpty bool   // {} or [] or null
	// Findings are what files ask of the arguments. Whoever knows the files fills it.
	Findings    []Finding
	HasResult   bool
	ResultHash  uint64
	ResultEmpty bool // null, "", {}, [] or zero documents
	Like        Likeness
	// ClientSide: asked for but to be executed by the caller.
	ClientSide bool

	// WaitsForPerson: the span is nothing but the wait for a person's answer.
	WaitsForPerson bool

	// Retrieval.
	Documents int64 // Unknown when not carried

	Failed     bool    // this span failed, as its convention says it
	Class      Class   // of the failure
	Failure    Failure // what the error text or value says beyond
	CallerGone bool    // the caller went away: HTTP 499, client closed request
	TimedOut   bool    // a server's span gave up waiting: HTTP 408, 504, gRPC DEADLINE_EXCEEDED
	Point      Point
	// Fault is the provider's trouble that a failed model call tells of.
	Fault ProviderFault

	Evaluations []Evaluation
	// Attributes that the files ask for (dimensions, match, CEL), in span
	// order: pairs of index into the extractor's names, and value.
	Attributes []Attribute

	// The arguments as they were captured: an attribute, or the text of an event.
	args     value
	argsText string

	reading *reading // scratch memory, kept over spans
}

// AskedCall is one tool call that a model's reply asks for.
type AskedCall struct {
	Name   string
	CallID uint64 // hash of the tool call id, as Facts.CallID; 0 none
	// The arguments, as those of a tool span; only read where Facts.ByMessage.
	HasArgs, ArgsEmpty bool
	ArgsHash           uint64
	Like               Likeness
	Findings           []Finding // as Facts.Findings

	raw string // the arguments as the reply has them: JSON or text
}

// ReturnedCall is the result of a tool call as a model was given it.
type ReturnedCall struct {
	CallID uint64
	Error  bool  // the result says that it is an error
	Class  Class // of the error
	// Refused: the error is that there is no such tool, so that nothing was called.
	Refused bool
	// The result, as that of a tool span.
	HasResult, ResultEmpty bool
	ResultHash             uint64
	Like                   Likeness
}

// Finding is what the arguments of a tool call say to one question of a file.
// There is none where they cannot be read.
type Finding struct {
	ID uint32 // of the question
	// Hash is 0 when what was asked for is not there; else that of the value, or
	// just not 0 where no value was asked for.
	Hash uint64
}

// Attribute is one attribute value that a file asks for.
type Attribute struct {
	Name  int // index into Extractor.Names
	Value string
}

// Evaluation is one result of an evaluator.
type Evaluation struct {
	Name   string
	Label  string
	Score  float64 // NaN when there is none
	Failed bool    // the evaluator failed: no verdict
	Time   uint64  // Unix nanoseconds
	// Target, first one set wins: the judged span, its trace, the judged response.
	TargetTrace    pcommon.TraceID
	TargetSpan     pcommon.SpanID
	TargetResponse uint64 // hash of the response id
	TargetRunID    string
}

// Reset makes f ready for the next span and keeps its slices' memory.
func (f *Facts) Reset() {
	evaluations, attributes, asked, returned, reading := f.Evaluations[:0], f.Attributes[:0], f.Asked[:0], f.Returned[:0], f.reading
	findings := f.Findings[:0]
	*f = noFacts
	f.Evaluations, f.Attributes, f.Asked, f.Returned, f.reading = evaluations, attributes, asked, returned, reading
	f.Findings = findings
}

var noFacts = Facts{Usage: UnknownUsage, CostUSD: math.NaN(), FirstToken: math.NaN(), Documents: Unknown}

// Confirm makes the tentative kind the span's kind.
func (f *Facts) Confirm() {
	if f.Tentative == Other {
		return
	}
	f.Kind, f.Convention = f.Tentative, f.TentativeOf
	if f.Kind == Tool || f.Kind == Model {
		f.Failed, f.Class, f.Failure = true, Unclassified, FailureError
	}
	f.Tentative, f.TentativeOf = Other, ""
}

// IsAI says whether a convention recognised the span as part of an agent's work.
func (f *Facts) IsAI() bool {
	return f.Kind != Other && f.Kind != Ignore && f.Kind != Unrecognised && f.Kind != Note
}
