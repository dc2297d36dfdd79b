package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// googleADKVocabulary is Google's Agent Development Kit in its languages. It
// speaks OpenTelemetry's, except for its model span call_llm and its root
// invocation.
var googleADKVocabulary = vocabulary{
	name:   "google_adk",
	scopes: []string{"gcp.vertex.agent*", "google.adk*", "google_adk*", "google.golang.org/adk*"},
	keys: []key{
		{"gcp.vertex.agent.invocation_id", slotRunID, 0},
		{"gcp.vertex.agent.session_id", slotMark, 0},
		{"gcp.vertex.agent.event_id", slotMark, 0},
		{"gcp.vertex.agent.llm_request", slotRequest, 0},
		{"gcp.vertex.agent.llm_response", slotReply, 0},
		{"gcp.vertex.agent.tool_call_args", slotArgs, 0},
		{"gcp.vertex.agent.tool_response", slotResult, 0},
		{"gen_ai.tool.type", slotToolType, 0},
		{"gen_ai.workflow.nested", slotNested, 0},
	},
	named: adkKind,
	read:  readADK,
}

func adkKind(name string, _ bool) Kind {
	switch {
	case name == "invocation", strings.HasPrefix(name, "invocation "),
		strings.HasPrefix(name, "agent_run "), strings.HasPrefix(name, "invoke_agent"):
		return Agent
	case name == "call_llm":
		return Model
	case strings.HasPrefix(name, "execute_tool "):
		return Tool
	case name == "execute_tool":
		return Tool
	case name == "compact_events", name == "send_data":
		return Step
	}
	return Other
}

func readADK(r *reading, f *Facts, s ptrace.Span) {
	switch f.Kind {
	case Tool:
		if f.ToolName == "" {
			f.ToolName = strings.TrimPrefix(s.Name(), "execute_tool ")
		}
		switch {
		case s.Name() == "execute_tool exit_loop":
			f.Finish = FinishStop // it ends the run, as it is meant to
		case r.textFrom(googleADK, slotToolType) == "LongRunningFunctionTool" && (!f.HasResult || f.ResultEmpty):
			f.Failure = FailurePaused // its result comes from outside, when somebody resumes the run
		}
		// In Go a map that nobody filled, whatever the tool was called with.
		if r.textFrom(googleADK, slotArgs) == "null" {
			f.HasArgs, f.ArgsHash, f.ArgsEmpty, f.Like = false, 0, false, Likeness{}
		}
		// A tool that throws ends its span before any attribute is set: that is
		// how this emitter says that it failed.
		if r.bare() {
			f.Failed, f.Class, f.Failure = true, max(f.Class, Unclassified), max(f.Failure, FailureError)
		}
	case Model:
		f.StubAtLimit = true // the limit is counted inside the model call's span
		// The same goes for a model call.
		if r.bare() {
			f.Failed, f.Class, f.Failure = true, max(f.Class, Unclassified), max(f.Failure, FailureError)
			return
		}
		// Every piece of a streamed reply overwrites the one before; the last one
		// of a whole reply is no piece.
		if r.replyPart && f.Finish == FinishNone && r.finish == FinishNone {
			f.Finish = FinishCancelled
		}
		if u, ok := geminiUsage(r.replyUsage); ok {
			f.Usage = u
		} else if f.Usage.Reasoning == Unknown && s.Name() == "call_llm" {
			// Output leaves out the thoughts, whose number is not said.
			f.Usage.Output = Unknown
		}
		// The first versions in Go, which pass Gemini's words on as they are, say
		// the total for the output, or leave out the thoughts.
		if f.Usage.Reasoning == Unknown && strings.HasPrefix(s.Name(), "generate_content") && r.shouts() {
			f.Usage.Output = Unknown
		}
		// Its stop goes with tool requests too; a streamed reply shows its last
		// piece only.
		f.FinishVague = f.Finish == FinishStop && !r.replyText && !r.replyCalls
	}
}

// geminiUsage reads the usage metadata of a Gemini response.
func geminiUsage(raw string) (Usage, bool) {
	u := UnknownUsage
	candidates, total := Unknown, Unknown
	m := membersOf(raw)
	for m.next() {
		switch m.key {
		case "promptTokenCount", "prompt_token_count":
			u.Input = countText(m.value)
		case "candidatesTokenCount", "candidates_token_count":
			candidates = countText(m.value)
		case "thoughtsTokenCount", "thoughts_token_count":
			u.Reasoning = countText(m.value)
		case "cachedContentTokenCount", "cached_content_token_count":
			u.CachedInput = countText(m.value)
		case "totalTokenCount", "total_token_count":
			total = countText(m.value)
		}
	}
	switch {
	case candidates != Unknown:
		u.Output = candidates + max(u.Reasoning, 0)
	case total != Unknown && u.Input != Unknown && total >= u.Input:
		u.Output = total - u.Input
	}
	return u, u.Known()
}

// shouts says whether the finish reason is in capitals, as Gemini's are.
func (r *reading) shouts() bool {
	v, ok := r.from(otelGenAI, slotFinish)
	if !ok {
		return false
	}
	word := v.Str()
	if v.Type() == pcommon.ValueTypeSlice && v.Slice().Len() > 0 {
		word = v.Slice().At(0).Str()
	}
	return word != "" && word == strings.ToUpper(word)
}
