package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// vercelVocabulary is the Vercel AI SDK, versions 3 to 6 and the legacy mode
// of 7; version 7 itself speaks OpenTelemetry's.
var vercelVocabulary = vocabulary{
	name:   "vercel_ai_sdk",
	scopes: []string{"ai", "gen_ai", "@ai-sdk/*"},
	keys: []key{
		{"ai.operationId", slotKind, 0},
		{"operation.name", slotKind, 1},
		{"ai.telemetry.functionId", slotAgentName, 0},

		{"ai.response.model", slotModel, 0},
		{"ai.model.id", slotRequested, 0},
		{"ai.model.provider", slotProvider, 0},
		{"ai.response.id", slotResponseID, 0},
		{"ai.usage.inputTokens", slotInput, 0},
		{"ai.usage.promptTokens", slotInput, 1},
		{"ai.usage.inputTokenDetails.cacheReadTokens", slotCacheRead, 0},
		{"ai.usage.cachedInputTokens", slotCacheRead, 1},
		{"ai.usage.inputTokenDetails.cacheWriteTokens", slotCacheWrite, 0},
		{"ai.usage.outputTokens", slotOutput, 0},
		{"ai.usage.completionTokens", slotOutput, 1},
		{"ai.usage.outputTokenDetails.reasoningTokens", slotReasoning, 0},
		{"ai.usage.reasoningTokens", slotReasoning, 1},
		{"ai.usage.totalTokens", slotTotal, 0},
		{"ai.response.msToFirstChunk", slotFirstTokenMillis, 0},
		{"ai.response.finishReason", slotFinish, 0},
		{"ai.finishReason", slotFinish, 1},
		{"ai.response.text", slotReply, 0},
		{"ai.response.object", slotReply, 1},
		{"ai.result.text", slotReply, 2},
		{"ai.result.object", slotReply, 3},
		{"ai.response.toolCalls", slotToolCalls, 0},
		{"ai.result.toolCalls", slotToolCalls, 1},
		{"ai.prompt.tools", slotTools, 0},

		{"ai.toolCall.name", slotToolName, 0},
		{"ai.toolCall.id", slotCallID, 0},
		{"ai.toolCall.args", slotArgs, 0},
		{"ai.toolCall.result", slotResult, 0},
	},
	kind: vercelKind,
	read: readVercel,
}

var vercelKinds = map[string]Kind{
	"ai.generateText": Agent, "ai.streamText": Agent, "ai.generateObject": Agent, "ai.streamObject": Agent,
	"ai.agent":                   Agent,
	"ai.generateText.doGenerate": Model, "ai.streamText.doStream": Model,
	"ai.generateObject.doGenerate": Model, "ai.streamObject.doStream": Model,
	"ai.toolCall": Tool,
	"ai.embed":    Step, "ai.embedMany": Step, "ai.embed.doEmbed": Step, "ai.embedMany.doEmbed": Step,
	"ai.rerank": Step, "ai.rerank.doRerank": Step,
}

// vercelKind reads ai.operationId, or operation.name, which has the function
// id behind a space.
func vercelKind(_ *reading, word string) Kind {
	word, _, _ = strings.Cut(word, " ")
	return vercelKinds[word]
}

// readVercel: a run that came to its end says its finish reason, whatever is
// captured. A stream that the caller aborted just ends.
func readVercel(r *reading, f *Facts, _ ptrace.Span) {
	f.Outspoken = true
	if word := r.textFrom(vercel, slotKind); r.own == 1<<vercel && !f.Failed &&
		(strings.HasPrefix(word, "ai.generateObject") || strings.HasPrefix(word, "ai.streamObject")) {
		f.readVercelObject(r)
	}
	if f.Kind != Agent || r.own != 1<<vercel || f.Failed || r.has(slotFinish) || r.has(slotReply) || r.has(slotOutput) {
		return
	}
	switch word, _, _ := strings.Cut(r.textFrom(vercel, slotKind), " "); word {
	case "ai.streamText", "ai.generateText":
		f.setFinish(FinishCancelled)
	}
}

// readVercelObject: an object is generated without tools. Where the model has to
// be asked for it through a made-up one, whose arguments it is, the finish reason
// is that of a tool call all the same.
func (f *Facts) readVercelObject(r *reading) {
	v, ok := r.from(vercel, slotReply)
	said := ok && (v.Type() != pcommon.ValueTypeStr || !hollow(v.Str()) && !redacted(v.Str()))
	r.replyCalls, r.asked, r.hasAnswer = false, r.asked[:0], true
	r.replyText, r.replySeen = said, ok
	if reason, ok := r.from(vercel, slotFinish); ok && finishOf(reason) == FinishTool {
		f.Finish, f.ToolsOffered = FinishStop, 0
	}
}

func vercelEvent(r *reading, f *Facts, e ptrace.SpanEvent) {
	if e.Name() == "ai.stream.firstChunk" && r.firstToken == 0 {
		r.firstToken = uint64(e.Timestamp())
	}
}
