// Package summary is the wire between the agent_sli processor and the
// agent_slo exporter: verdicts of one run as one span, and back.
//
// The span stands beside the run in its own trace, as a child of the run's
// root, so that people find the verdicts where they look at the run. Its
// attributes are listed in [Attributes].
package summary

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/sli"
)

// Summary is what the exporter counts. A run has one summary, or a first one
// and later ones for SLOs that waited for evaluations; each (run, SLO) is in
// exactly one.
type Summary struct {
	Run        [16]byte
	TraceID    pcommon.TraceID
	RootSpanID pcommon.SpanID // parent of the summary span
	SpanID     pcommon.SpanID // see [SpanID]; set by [Parse], and worked out by [Append] itself

	// First: the run's first summary. The facts of the run as a whole (outcome,
	// tools, tokens, cost, duration) are counted only from it.
	First       bool
	Matched     bool   // false: no file matches the run; only Service, Environment, Agent and Outcome are set
	Service     string // the file's service: label slo_service
	Environment string
	Agent       string
	Outcome     string
	Completion  string
	Excluded    string // name of the exclusion that matched
	Start, End  uint64 // Unix nanoseconds of the run

	Results    []sli.Result
	Dimensions map[string]string // dimension name → value
	ToolCalls  []ToolCount
	Tokens     []TokenCount
	Waste      []sli.Waste
	Faults     []FaultCount
	Failovers  int64
	Signals    []SignalCount

	ToolFailures     []FailureCount
	DuplicateEffects []EffectCount
	FirstWrong       *FirstWrong // nil when nothing went wrong
	Blocker          *Blocker    // nil when there is none

	DurationSeconds     *float64
	CostUSD             *float64
	ModelCalls          *int
	SamplingProbability float64 // 0 not said
	// Biased: the run's spans were kept with different probabilities, or by a tail sampler.
	Biased bool
}

// ToolCount counts a run's calls of one tool with one result: ok or a failure class.
type ToolCount struct {
	Tool, Result string
	Count        int64
}

// TokenCount counts a run's tokens of one model: type is input, cached_input,
// cache_write, output or reasoning.
type TokenCount struct {
	Model, Type string
	Count       int64
}

// FaultCount counts a run's calls of one model that failed for one kind of
// trouble at its provider.
type FaultCount struct {
	Model, Fault string
	Count        int64
}

// SignalCount counts what else happened in a run, see [sli.Signals].
type SignalCount struct {
	Signal string
	Count  int64
}

// SpanID is the id of the summary span of these results of a run. It depends
// on the run and on which SLOs the summary holds, in any order, and on nothing
// else: whoever derives the same verdicts again, after a restart or on another
// replica, sends the same span, and it is counted once.
func SpanID(run [16]byte, results []sli.Result) pcommon.SpanID {
	var sum uint64 // of hashes: the order does not matter
	for i := range results {
		sum += xxhash.Sum64String(results[i].SLO)
	}
	var id [24]byte
	copy(id[:], run[:])
	binary.BigEndian.PutUint64(id[16:], sum)
	h := xxhash.Sum64(id[:])
	if h == 0 { // an empty span id is no id
		h = 1
	}
	var span pcommon.SpanID
	binary.BigEndian.PutUint64(span[:], h)
	return span
}
