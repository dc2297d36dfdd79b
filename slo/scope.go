package slo

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Scope says what an SLO counts one event each of.
type Scope string

const (
	ScopeRun   Scope = "run"   // runs; the default
	ScopeAgent Scope = "agent" // invocations of sub-agents within runs
	ScopeTool  Scope = "tool"  // executed tool calls within runs
)

// stepKinds are the SLI kinds that a step of a run can have. The others are
// about a run as a whole: its answer, its money, what it did over all its steps.
var stepKinds = []string{"completion", "latency"}

// scopeKeys are the keys of an SLO that say which steps it counts.
var scopeKeys = []string{"scope", "tools"}

// OfSteps says whether the SLO counts steps within runs: tool calls, or
// invocations of sub-agents. A run has any number of them, or none.
func (o *Objective) OfSteps() bool { return o.Scope == ScopeAgent || o.Scope == ScopeTool }

// HasScope says whether any SLO of the file has that scope.
func (f *File) HasScope(scope Scope) bool {
	return slices.ContainsFunc(f.SLOs, func(o Objective) bool { return o.Scope == scope })
}

// NamesTool says whether the SLO's tools name the tool: an SLO without tools
// names none, and counts those that count for the run.
func (o *Objective) NamesTool(tool string) bool { return matchAny(o.Tools, tool) }

// DimensionTool is the dimension that SLOs with scope tool have without being
// asked: the tool that was called.
const DimensionTool = "tool"

// ToolsKept is how many tools [DimensionTool] keeps apart.
const ToolsKept = 100

// checkScope finds what a scope makes void.
func (r *reader) checkScope(o *Objective, found map[string]entry) {
	if e, ok := found["tools"]; ok && o.Scope != ScopeTool {
		r.fault(e.key, "tools says which tool calls an SLO counts, and this one counts %s; say scope: tool as well", scopeWords[o.Scope])
	}
	if e, ok := found["provider_faults"]; ok && o.OfSteps() && o.ProviderFaults != ProviderFaultsBlame {
		r.fault(e.value, "provider_faults: %s is about runs, not about %s", o.ProviderFaults, scopeWords[o.Scope])
	}
	if e, ok := found["measure"]; ok && o.OfSteps() && o.Measure != MeasureRun {
		r.fault(e.value, "measure: %s is about runs; the latency of %s is from start to end", o.Measure, scopeWords[o.Scope])
	}
}

var scopeWords = map[Scope]string{ScopeRun: "runs", ScopeAgent: "sub-agents", ScopeTool: "tool calls"}

// scope reads what an SLO counts.
func (r *reader) scope(o *Objective, n *yaml.Node, what string) {
	if s, ok := r.word(n, what, string(ScopeRun), string(ScopeAgent), string(ScopeTool)); ok {
		o.Scope = Scope(s)
	}
}

// foreignScope refuses a scope where the kind has none.
func (r *reader) foreignScope(k *yaml.Node, kind string) {
	r.fault(k, "%s: an SLO of kind %s is about whole runs; of a tool call or a sub-agent there is only %s", k.Value, kind, strings.Join(stepKinds, " and "))
}

// EventName is what one event of the SLO is, in the singular: run, tool call,
// sub-agent run, or event for a ratio of other counters. Its plural has an s.
func (o *Objective) EventName() string {
	switch {
	case o.Scope == ScopeTool:
		return "tool call"
	case o.Scope == ScopeAgent:
		return "sub-agent run"
	case o.CountsRuns():
		return "run"
	}
	return "event"
}
