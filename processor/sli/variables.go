package sli

import (
	"math"
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Variables is the run as [slo.Program.Eval] reads it: [slo.RunFields] and
// "attributes". A fact that the telemetry does not carry is left out.
func Variables(r *run.Run) map[string]any {
	v := make(map[string]any, len(slo.RunFields)+1)
	v["attributes"] = r.Attributes
	if r.Attributes == nil {
		v["attributes"] = map[string]string{}
	}

	if r.Outcome != slo.OutcomeUnknown {
		v["run.outcome"] = r.Outcome.String()
	}
	text := func(name, value string) {
		if value != "" {
			v[name] = value
		}
	}
	text("run.agent", r.Agent)
	text("run.service", r.Service)
	text("run.environment", r.Environment)
	if len(r.Agents) > 0 {
		v["run.agents"] = r.Agents
	}

	number := func(name string, value *float64) {
		if value != nil {
			v[name] = *value
		}
	}
	number("run.duration_seconds", r.Seconds)
	number("run.first_token_seconds", r.FirstToken)
	number("run.cost_usd", r.CostUSD)

	if r.ModelCalls != nil {
		v["run.model_calls"] = int64(*r.ModelCalls)
		models := make([]string, 0, len(r.Models))
		for i := range r.Models {
			if m := r.Models[i].Model; m != "" {
				models = append(models, m)
			}
		}
		v["run.models"] = models
		v["run.provider_faults"], v["run.failovers"] = int64(len(r.Faults)), int64(r.Failovers)
		v["run.ended_by_provider"] = r.EndedByProvider
		v["run.attempts"] = int64(r.Checks.Attempts)
	}
	toolVariables(v, r)
	checkVariables(v, r)

	tokens := func(name string, n int64) {
		if n != convention.Unknown {
			v[name] = n
		}
	}
	tokens("run.input_tokens", r.Usage.Input)
	tokens("run.cached_input_tokens", r.Usage.CachedInput)
	tokens("run.output_tokens", r.Usage.Output)
	tokens("run.reasoning_tokens", r.Usage.Reasoning)
	if r.Usage.Input != convention.Unknown && r.Usage.Output != convention.Unknown {
		v["run.total_tokens"] = r.Usage.Input + r.Usage.Output
	}

	v["run.evaluations"] = scores(r.Evaluations)
	return v
}

// checkVariables are known of what the telemetry shows at all: a run without a
// guardrail span may have had guardrails, and only an answer that is a tool call
// shows that it had the right form.
func checkVariables(v map[string]any, r *run.Run) {
	c := &r.Checks
	if c.Guardrails > 0 {
		v["run.guardrails"], v["run.guardrail_blocks"] = int64(c.Guardrails), int64(c.GuardrailBlocks)
	}
	if c.Judges > 0 {
		v["run.judges"] = int64(c.Judges)
	}
	if c.SchemaFailures > 0 || slices.ContainsFunc(r.Tools, func(t run.ToolCall) bool { return t.Role == run.Answer }) {
		v["run.schema_failures"], v["run.schema_given_up"], v["run.same_corrections"] = int64(c.SchemaFailures), c.SchemaGivenUp, int64(c.SameCorrections)
	}
	if c.Resumes > 0 || r.RunID != "" {
		v["run.resumes"], v["run.unconfirmed_resumes"] = int64(c.Resumes), int64(c.Resumes-c.ConfirmedResumes)
	}
}

func toolVariables(v map[string]any, r *run.Run) {
	var calls, failed, permanent int64
	retrievals, last := int64(len(r.Retrievals)), ""
	names := make([]string, 0, len(r.Tools))
	for i := range r.Tools {
		t := &r.Tools[i]
		names, last = append(names, t.Name), t.Name
		if t.Retrieval {
			retrievals++
		}
		if counted(t) {
			calls++
			if t.Failed() {
				failed++
			}
			if t.Persistence == run.Permanent {
				permanent++
			}
		}
	}
	if calls > 0 || r.Unseen == 0 { // else nobody knows
		v["run.tool_calls"], v["run.failed_tool_calls"], v["run.permanent_failures"] = calls, failed, permanent
		v["run.first_wrong"] = ""
		if r.FirstWrong != nil {
			v["run.first_wrong"] = r.FirstWrong.What
		}
	}
	v["run.tools"], v["run.last_tool"] = names, last
	v["run.retrievals"] = retrievals
}

// scores is the latest score of each evaluator that did not fail; of two at
// the same time the lower one, in whatever order they came.
func scores(all []convention.Evaluation) map[string]float64 {
	m := make(map[string]float64, len(all))
	times := make(map[string]uint64, len(all))
	for i := range all {
		e := &all[i]
		if e.Failed || math.IsNaN(e.Score) {
			continue
		}
		score, seen := m[e.Name]
		if !seen || e.Time > times[e.Name] || e.Time == times[e.Name] && e.Score < score {
			m[e.Name], times[e.Name] = e.Score, e.Time
		}
	}
	return m
}

// counted says whether the call is a tool call as a person would count:
// answers and handoffs are none, and of a delegation the sub-agent's own are.
func counted(t *run.ToolCall) bool { return t.Role == run.Evidence || t.Role == run.Counted }
