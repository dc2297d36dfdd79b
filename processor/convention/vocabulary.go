package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// slot is a fact's raw value, before it is read: every key of every
// vocabulary feeds one slot.
type slot uint8

const (
	noSlot   slot = iota
	slotMark      // says whose span it is, and nothing else

	slotKind
	slotAgentName
	slotWorkflowName
	slotRunID
	slotNested

	slotModel
	slotRequested // the model that was asked for, where the one that answered has a key of its own
	slotProvider
	slotResponseID
	slotInput
	slotCacheRead
	slotCacheWrite
	slotOutput
	slotReasoning
	slotTotal
	slotUsageJSON
	slotCost
	slotCostInput
	slotCostOutput
	slotCostCurrency
	slotCostJSON
	slotFirstToken       // seconds
	slotFirstTokenMillis // milliseconds
	slotFirstTokenTime   // a point in time, RFC 3339
	slotFinish
	slotPrompt    // the messages that a model is given
	slotReply     // what the model or the agent says
	slotToolCalls // tool calls of the reply, where they have a key of their own
	slotTools     // tools offered
	slotRequest   // JSON that holds, among other things, the tools offered

	slotToolName
	slotCallID
	slotArgs
	slotResult
	slotToolStatus
	slotToolType
	slotParameters // of a tool: its arguments, or their schema
	slotDeferral   // a tool call put off until a person approves
	slotDocuments
	slotTriggered   // a guardrail refused
	slotResumed     // what a run was resumed from
	slotResumedFrom // its id
	slotMaxSteps    // how many steps an agent may take
	slotMethod      // of MCP

	slotErrorType
	slotErrorText
	slotLevel // severity that stands for a status
	slotState
	slotCancelled // what cancelled the span's work
	slotStore     // database system
	slotStoreCall // its operation

	slotHTTPMethod // marks a span of an HTTP client or server
	slotMessaging  // marks a span of a queue
	slotHTTPStatus
	slotRPCStatus

	slotSpanType // a span type that overrides every kind
	slotFeedback
	slotPath
	slotTargetTrace
	slotTargetSpan
	slotScore  // what an evaluator gave
	slotScorer // its name

	slots
)

// vocabularyID is a vocabulary's place in [vocabularies]: the order in which
// vocabularies are asked for the span's kind, and in which a fact is looked for
// outside of the span's own vocabulary.
type vocabularyID uint8

const (
	openInference vocabularyID = iota
	otelGenAI
	vercel
	traceloop
	langfuse
	llmRequest
	langSmith
	mlflow
	mastra
	genkit
	strands
	googleADK
	pydanticAI
	anyAgent
	agentFramework
	shared // attributes of every convention, such as error.type
	geminiCLI
	claudeCode
	voltAgent
	laminar
	codex
	springAI
	agentOps
	langWatch
	braintrust
	vocabularyCount
)

// private vocabularies have names so bare that they are read for their own spans only.
const private = uint32(1)<<claudeCode | uint32(1)<<agentFramework | uint32(1)<<llmRequest | uint32(1)<<geminiCLI | uint32(1)<<codex

// A new convention is one file with its vocabulary, an id above and a line in
// the list below; nothing else changes.

// vocabulary is one telemetry convention as a table: its attribute keys, its
// kind words and the readers of what no table can say.
type vocabulary struct {
	name string
	keys []key
	// prefixes are families of numbered keys, read as they are met.
	prefixes []prefix
	// kinds are the words of slotKind.
	kinds map[string]Kind
	// kind replaces kinds where one word is not enough.
	kind func(r *reading, word string) Kind
	// scopes are instrumentation scopes that emit this vocabulary. A final *
	// stands for any ending.
	scopes []string
	// named recognises spans of the vocabulary's scopes, or with its keys, that
	// carry no kind word. scoped is true for the former.
	named func(name string, scoped bool) Kind
	// read completes or corrects the facts that the tables gave, for spans that
	// carry the vocabulary's keys or scope.
	read func(r *reading, f *Facts, s ptrace.Span)
}

type key struct {
	name string
	slot slot
	rank uint8 // within the vocabulary; the lowest present wins
}

type prefix struct {
	text string
	read func(r *reading, rest string, v value)
}

var vocabularies = [vocabularyCount]*vocabulary{
	otelGenAI:      &otelGenAIVocabulary,
	openInference:  &openInferenceVocabulary,
	vercel:         &vercelVocabulary,
	traceloop:      &traceloopVocabulary,
	googleADK:      &googleADKVocabulary,
	pydanticAI:     &pydanticAIVocabulary,
	strands:        &strandsVocabulary,
	langfuse:       &langfuseVocabulary,
	langSmith:      &langSmithVocabulary,
	genkit:         &genkitVocabulary,
	mastra:         &mastraVocabulary,
	anyAgent:       &anyAgentVocabulary,
	agentFramework: &agentFrameworkVocabulary,
	mlflow:         &mlflowVocabulary,
	llmRequest:     &llmRequestVocabulary,
	geminiCLI:      &geminiCLIVocabulary,
	shared:         &sharedVocabulary,
	claudeCode:     &claudeCodeVocabulary,
	voltAgent:      &voltAgentVocabulary,
	laminar:        &laminarVocabulary,
	codex:          &codexVocabulary,
	springAI:       &springAIVocabulary,
	agentOps:       &agentOpsVocabulary,
	langWatch:      &langWatchVocabulary,
	braintrust:     &braintrustVocabulary,
}

// emitters are vocabularies of frameworks that speak another vocabulary with
// an accent: they give the span's convention its name when their keys or
// their scope are seen.
const emitters = uint32(1)<<googleADK | uint32(1)<<pydanticAI | uint32(1)<<strands | uint32(1)<<mastra |
	uint32(1)<<anyAgent | uint32(1)<<geminiCLI

// sharedVocabulary has the attributes that any convention may use.
var sharedVocabulary = vocabulary{
	name: "shared",
	keys: []key{
		{"error.type", slotErrorType, 0},
		{"error.message", slotErrorText, 0},
		{"http.request.method", slotHTTPMethod, 0},
		{"http.method", slotHTTPMethod, 1},
		{"http.response.status_code", slotHTTPStatus, 0},
		{"http.status_code", slotHTTPStatus, 1},
		{"rpc.grpc.status_code", slotRPCStatus, 0},
		{"rpc.response.status_code", slotRPCStatus, 1},
		{"mcp.method.name", slotMethod, 0},
		{"messaging.system", slotMessaging, 0},
		{"messaging.operation.name", slotMessaging, 1},
		{"db.system.name", slotStore, 0},
		{"db.system", slotStore, 1},
		{"db.operation.name", slotStoreCall, 0},
		{"db.operation", slotStoreCall, 1},
	},
}

// llmRequestVocabulary is the kind key of the first LLM instrumentations.
var llmRequestVocabulary = vocabulary{
	name: "traceloop",
	keys: []key{{"llm.request.type", slotKind, 0}},
	kinds: map[string]Kind{
		"chat": Model, "completion": Model, "embedding": Step, "rerank": Step,
	},
}
