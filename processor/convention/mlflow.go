package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// mlflowVocabulary is MLflow's tracing.
var mlflowVocabulary = vocabulary{
	name:   "mlflow",
	scopes: []string{"mlflow*"},
	keys: []key{
		{"mlflow.spanType", slotKind, 0},
		{"mlflow.spanInputs", slotArgs, 0},
		{"mlflow.spanOutputs", slotResult, 0},
		{"mlflow.spanFunctionName", slotMark, 0},
		{"mlflow.llm.model", slotModel, 0},
		{"mlflow.chat.tokenUsage", slotUsageJSON, 0},
		{"mlflow.chat.tools", slotTools, 0},
		{"mlflow.llm.cost", slotCostJSON, 0},
	},
	kind: mlflowKind,
	read: readMLflow,
}

var mlflowKinds = map[string]Kind{
	"AGENT": Agent, "CHAIN": Chain, "CHAT_MODEL": Model, "LLM": Model, "TOOL": Tool, "RETRIEVER": Retrieval,
	"WORKFLOW": Agent, "RERANKER": Step, "EMBEDDING": Step, "PARSER": Step, "MEMORY": Step, "TASK": Step, "UNKNOWN": Step,
	"GUARDRAIL": Guardrail, "EVALUATOR": Evaluator,
}

// mlflowKind reads the type, which is JSON text.
func mlflowKind(_ *reading, word string) Kind { return mlflowKinds[text(word)] }

func readMLflow(r *reading, f *Facts, s ptrace.Span) {
	if r.own != 1<<mlflow {
		return
	}
	f.ModelName = text(f.ModelName)
	switch f.Kind {
	case Agent:
		f.AgentName = s.Name()
		f.Placeholder = placeholder(f.AgentName)
	case Tool:
		f.ToolName = s.Name()
	case Retrieval:
		if out := r.textFrom(mlflow, slotResult); out != "" {
			f.Documents = documentsIn(out)
		}
	case Model:
		m := membersOf(r.textFrom(mlflow, slotUsageJSON))
		for m.next() {
			switch m.key {
			case "input_tokens":
				f.Usage.Input = countText(m.value)
			case "output_tokens":
				f.Usage.Output = countText(m.value)
			case "cache_read_input_tokens":
				f.Usage.CachedInput = countText(m.value)
			case "cache_creation_input_tokens":
				f.Usage.CacheWrite = countText(m.value)
			}
		}
		f.Usage.include(Unknown)
	}
}
