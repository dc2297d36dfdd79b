package convention

import (
	"cmp"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// genkitVocabulary is Google's Genkit: every fact is JSON text.
var genkitVocabulary = vocabulary{
	name:   "genkit",
	scopes: []string{"genkit-tracer*", "genkit*"},
	keys: []key{
		{"genkit:metadata:subtype", slotKind, 0},
		{"genkit:type", slotKind, 1},
		{"genkit:name", slotToolName, 0},
		{"genkit:isRoot", slotNested, 0},
		{"genkit:input", slotArgs, 0},
		{"genkit:output", slotResult, 0},
		{"genkit:state", slotState, 0},
		{"genkit:path", slotPath, 0},
	},
	kinds: map[string]Kind{
		"flow": Agent, "agent": Agent, "session-flow": Agent, "model": Model, "background-model": Model, "tool": Tool, "tool.v2": Tool,
		"retriever": Retrieval, "indexer": Step, "embedder": Step, "reranker": Step, "prompt": Step,
		"executable-prompt": Step, "util": Step, "evaluator": Evaluator, "flowStep": Step, "promptTemplate": Step,
		"helper": Step, "action": Step,
	},
	read: readGenkit,
}

func readGenkit(r *reading, f *Facts, s ptrace.Span) {
	if r.textFrom(genkit, slotState) == "error" {
		f.fail("")
	}
	if r.own != 1<<genkit {
		readGenkitTestCase(r, f, s)
		return
	}
	name, out := r.textFrom(genkit, slotToolName), r.textFrom(genkit, slotResult)
	f.Nested = false
	switch f.Kind {
	case Agent:
		f.AgentName = name
		f.Placeholder = placeholder(name)
	case Step:
		// generate without a flow round it is the run; it calls itself for every
		// tool round.
		if root, ok := r.from(genkit, slotNested); ok && truth(root) && r.textFrom(genkit, slotKind) == "util" {
			f.Kind, f.AgentName = Agent, name
			f.Placeholder = true
		}
	case Model:
		f.ModelName = name
		f.Usage = genkitUsage(r.replyUsage)
		if in := r.textFrom(genkit, slotArgs); in != "" && f.ToolsOffered == 0 {
			f.ToolsOffered = toolsIn(in)
		}
	case Retrieval:
		f.Documents = documentsIn(out)
	case Evaluator:
		readGenkitTestCase(r, f, s)
	}
}

// readGenkitTestCase reads one case of an evaluator, which carries the score, or
// a list of them: the evaluator's own span only lists the cases.
func readGenkitTestCase(r *reading, f *Facts, s ptrace.Span) {
	if f.Kind != Unrecognised && f.Kind != Other && f.Kind != Evaluator {
		return
	}
	evaluation := member(r.textFrom(genkit, slotResult), "evaluation")
	if evaluation == "" {
		return
	}
	f.Kind, f.Convention = Evaluator, "genkit"
	// The path begins with the evaluator: /{shop/relevance,t:action}/….
	name := strings.TrimPrefix(r.textFrom(genkit, slotPath), "/{")
	name, _, _ = strings.Cut(name, ",")
	before := len(f.Evaluations)
	if evaluation[0] == '[' {
		for score := elementsOf(evaluation); score.next() && len(f.Evaluations) < maxEvaluations; {
			f.evaluateJSON(score.value, cmp.Or(text(member(score.value, "id")), name), s)
		}
	} else {
		f.evaluateJSON(evaluation, name, s)
	}
	for i := before; i < len(f.Evaluations); i++ {
		judged := elementsOf(member(r.textFrom(genkit, slotArgs), "traceIds"))
		f.Evaluations[i].TargetTrace = pcommon.TraceID{}
		if judged.next() {
			f.Evaluations[i].TargetTrace = traceID(text(judged.value))
		}
	}
}

// genkitUsage reads the usage of a model's response.
func genkitUsage(raw string) Usage {
	u := UnknownUsage
	total := Unknown
	m := membersOf(raw)
	for m.next() {
		switch m.key {
		case "inputTokens":
			u.Input = countText(m.value)
		case "outputTokens":
			u.Output = countText(m.value)
		case "totalTokens":
			total = countText(m.value)
		case "cachedContentTokens":
			u.CachedInput = countText(m.value)
		case "thoughtsTokens":
			u.Reasoning = countText(m.value)
		}
	}
	// Thoughts are outside of output where the total says so.
	if u.Reasoning > 0 && u.Input != Unknown && u.Output != Unknown && total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u
}
