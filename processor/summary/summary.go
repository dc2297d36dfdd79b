// Package summary is the wire between the agent_sli processor and the
// agent_slo exporter: verdicts of one run as one span, and back.
package summary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/sli"
)

// Summary is what the exporter counts. A run has one summary, or a first one
// and later ones for SLOs that waited for evaluations; each (run, SLO) is in
// exactly one.
type Summary struct {
	Run        [16]byte
	TraceID    pcommon.TraceID
	RootSpanID pcommon.SpanID // parent of the summary span
	SpanID     pcommon.SpanID // derived from (run, SLOs)

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

	DurationSeconds     *float64
	CostUSD             *float64
	ModelCalls          *int
	SamplingProbability float64 // 0 not said
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

// Append adds the summary as a span to td, under the scope of this module.
func Append(td ptrace.Traces, s *Summary) {}

// Is says whether the scope holds summary spans.
func Is(scope pcommon.InstrumentationScope) bool { return false }

// Parse reads a summary span.
func Parse(span ptrace.Span) (*Summary, error) { return nil, nil }
