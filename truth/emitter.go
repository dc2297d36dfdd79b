package truth

// Carried says when an emitter's telemetry holds a count.
type Carried int

const (
	Always   Carried = iota
	NonZero          // the attribute is left out when the count is zero
	Never            // no attribute says it
	WithText         // only inside message content, so not when content is off
)

// Emitter is what one instrumentation does not say, found by reading its recordings.
type Emitter struct {
	Name string
	// Convention must be read; "" for one that need not be, whose runs may be missing.
	Convention string
	// NoRun: the instrumentation sees model calls only, so that nothing of it is a run.
	NoRun string

	Cached, Reasoning, Output Carried
	// Input: why the input count is not carried.
	Input string
	// ModelCalls: why the number of model calls is not carried.
	ModelCalls string
	// FailureText: why a failed call's class is not carried.
	FailureText string
	// FailureTextOff: the same, where content capture is off.
	FailureTextOff string
	// FailedCalls: why failed calls are not there at all.
	FailedCalls string

	Model string // gpt-4o-mini unless said
	Cost  bool   // the root carries the cost in USD
	// Process: the application starts another process for each run, so that it
	// measured more than the run.
	Process bool

	Agent  string            // the root's agent name
	Agents map[string]string // by scenario, where another agent is the root
}

// Emitters has a row for each recorded instrumentation.
var Emitters = []Emitter{
	{
		Name: "vercel-ai-v6", Convention: "vercel_ai",
		Agent: "order-support", Agents: map[string]string{"subagent": "supervisor-agent"},
	},
	{
		Name: "vercel-ai-v7", Convention: "otel_genai", Reasoning: Never,
		FailureTextOff: "with content off the failed execute_tool has an empty status message and no exception",
		Agent:          "order-support", Agents: map[string]string{"subagent": "supervisor-agent"},
	},
	{
		Name: "openinference-langchain", Convention: "openinference", Cached: NonZero, Reasoning: NonZero,
		Agent: "order_support", Agents: map[string]string{"subagent": "supervisor", "rag-plain": "help_centre_rag", "graph": "order_graph", "handoff": "support"},
	},
	{
		Name: "openllmetry-js", Convention: "openllmetry", Cached: Never, Reasoning: Never,
		FailedCalls: "the span of a rejected function is never ended, so a failed call has no span",
		Agent:       "order_support",
		Agents: map[string]string{"subagent": "support", "rag-plain": "help_centre_rag",
			"conversation": "conversation.conv-7|order_support|order_agent", "aborted": "order_agent"},
	},
	{
		Name: "langfuse-js", Agent: "order_support", Agents: map[string]string{"subagent": "supervisor"},
	},
	{
		Name: "openai-agents-openinference", Convention: "openinference",
		NoRun: "only the model client is instrumented: every call is a trace of its own, and no span is an agent",
	},
	{
		Name: "otel-contrib-openai", Convention: "otel_genai",
		NoRun: "only the model client is instrumented: every call is a trace of its own, and no span is an agent",
	},
	{
		Name: "strands-ts", Convention: "otel_genai", Cached: NonZero, Reasoning: Never,
		Agent: "order-support", Agents: map[string]string{"subagent": "supervisor", "graph": "graph"},
	},
	{
		Name: "google-adk-js", Convention: "google_adk", Cached: WithText, Reasoning: WithText, Output: WithText,
		FailureText: "a failed call is a span without attributes",
		Model:       "gemini-2.0-flash",
		Agent:       "order_support", Agents: map[string]string{"subagent": "supervisor", "handoff": "triage"},
	},
	{
		Name: "mastra", Convention: "otel_genai",
		Agent: "Order support", Agents: map[string]string{"subagent": "Supervisor"},
	},
	{
		Name: "genkit-js", Cached: Never, Reasoning: Never, // only in the provider's raw reply
		Agent: "orderSupport|generate|orderSupport2", Agents: map[string]string{"subagent": "support", "rag-plain": "helpCentreRag"},
	},
	{
		Name: "claude-agent-sdk-openinference", Convention: "openinference", Cached: Never, Reasoning: Never,
		Input:      "the count leaves cached input out, and no attribute says how much that was",
		ModelCalls: "there is no model span",
		Model:      "claude-sonnet-4-5", Cost: true,
		Agent: "ClaudeAgent.query",
	},

	// Recorded here: testdata/more.
	{
		Name: "voltagent", Convention: "voltagent",
		ModelCalls: "one llm span holds all calls of a run",
		Agent:      "order-support", Agents: map[string]string{"subagent": "supervisor"},
	},
	{
		Name: "openai-agents-laminar", Convention: "laminar",
		FailureText: `a tool that threw says "Error running tool (non-fatal)" and no more`,
		Agent:       "order-support",
	},
	{
		Name: "openllmetry-langchain", Convention: "openllmetry", Cached: Never, Reasoning: Never,
		NoRun: "no span is open, so every runnable and every call is a trace of its own",
		Agent: "order_support",
	},
	{
		Name: "openllmetry-langchain-workflow", Convention: "openllmetry", Cached: Never, Reasoning: Never,
		Agent: "order_support|CompiledStateGraph",
	},
	{
		Name: "openai-agents-js", Convention: "openinference",
		FailureText: "the SDK redacts what a tool that threw said",
		Agent:       "order-support", Agents: map[string]string{"handoff": "triage"},
	},
	{
		Name: "genkit-go", Convention: "genkit", Cached: NonZero, Reasoning: NonZero,
		Agent: "orderSupport", Agents: map[string]string{"subagent": "support", "rag-plain": "helpCentreRag"},
	},
	{
		Name: "claude-native", Convention: "claude_code", Reasoning: Never, Process: true,
		FailureTextOff: "with content off the failed execution says McpToolCallError and no more",
		Model:          "claude-sonnet-4-5",
		Agent:          "claude_code.interaction",
	},
}

func emitter(name string) *Emitter {
	for i := range Emitters {
		if Emitters[i].Name == name {
			return &Emitters[i]
		}
	}
	return nil
}

func (e *Emitter) agent(scenario string) string {
	if name, ok := e.Agents[scenario]; ok {
		return name
	}
	return e.Agent
}
