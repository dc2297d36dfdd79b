package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// mastraVocabulary is Mastra's exporter, beside OpenTelemetry's.
var mastraVocabulary = vocabulary{
	name:   "mastra",
	scopes: []string{"@mastra/*", "mastra*"},
	keys: []key{
		{"mastra.span.type", slotKind, 0},
		{"mastra.agent_run.input", slotArgs, 0},
		{"mastra.agent_run.output", slotResult, 0},
		{"mastra.workflow_run.output", slotResult, 1},
		{"mastra.scorer_run.output", slotResult, 2},
		{"mastra.metadata.args", slotArgs, 1},
		{"mastra.completion_start_time", slotFirstTokenTime, 0},
		{"mastra.metadata.targetTraceId", slotTargetTrace, 0},
		{"mastra.metadata.targetSpanId", slotTargetSpan, 0},
		{"mastra.metadata.runId", slotMark, 0},
	},
	kinds: map[string]Kind{
		"agent_run": Agent, "workflow_run": Agent, "model_inference": Model, "tool_call": Tool, "mcp_tool_call": Tool,
		"client_tool_call": Tool, "model_generation": Step, "model_step": Step, "model_chunk": Ignore,
		"scorer_run": Evaluator, "scorer_step": Evaluator, "processor_run": Step, "generic": Step, "memory": Step,
		"workflow_step": Step, "workflow_conditional": Step, "workflow_conditional_eval": Step, "workflow_parallel": Step,
		"workflow_loop": Step, "workflow_sleep": Step, "workflow_wait_event": Step,
	},
	read: readMastra,
}

func readMastra(r *reading, f *Facts, s ptrace.Span) {
	if f.Finish == FinishError {
		f.fail("")
	}
	switch f.Kind {
	case Agent:
		out := r.textFrom(mastra, slotResult)
		switch text(member(out, "status")) {
		case "aborted", "canceled", "cancelled":
			f.setFinish(FinishCancelled)
			f.Failure, f.HasOutput = FailureCancelled, false
		case "suspended", "paused":
			f.setFinish(FinishHuman)
			f.Failure, f.HasOutput = FailurePaused, false
		}
		if !hollow(member(out, "tripwire")) {
			f.setFinish(FinishRefusal)
			r.hasAnswer, r.replyText = true, false // its output says only that it was refused
		}
	case Tool:
		if r.textFrom(mastra, slotKind) == "client_tool_call" {
			f.ClientSide = true
			if f.ToolName == "" {
				f.ToolName = strings.TrimPrefix(s.Name(), "client_tool_call ")
			}
		}
	case Evaluator:
		if r.textFrom(mastra, slotKind) == "scorer_run" {
			before := len(f.Evaluations)
			f.evaluateJSON(r.textFrom(mastra, slotResult), strings.TrimPrefix(s.Name(), "scorer_run "), s)
			for i := before; i < len(f.Evaluations); i++ {
				e := &f.Evaluations[i]
				e.TargetTrace = traceID(r.textFrom(mastra, slotTargetTrace))
				e.TargetSpan = spanID(r.textFrom(mastra, slotTargetSpan))
			}
		}
	}
}
