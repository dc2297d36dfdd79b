package convention

import (
	"math"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// made is a span written by hand, for what no recording has.
type made struct {
	scope, name string
	kind        ptrace.SpanKind
	status      ptrace.StatusCode
	message     string
	attributes  map[string]any
	events      []madeEvent
	link        *pcommon.SpanID
	parent      bool
	flags       uint32
}

type madeEvent struct {
	name       string
	after      time.Duration
	attributes map[string]any
}

var (
	madeTrace  = pcommon.TraceID{1, 2, 3}
	madeSpan   = pcommon.SpanID{4, 5}
	madeParent = pcommon.SpanID{6}
	madeStart  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func (m made) span(t testing.TB) ptrace.Span {
	t.Helper()
	s := ptrace.NewSpan()
	s.SetName(m.name)
	s.SetKind(m.kind)
	s.SetTraceID(madeTrace)
	s.SetSpanID(madeSpan)
	if m.parent {
		s.SetParentSpanID(madeParent)
	}
	s.SetFlags(m.flags)
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(madeStart))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(madeStart.Add(10 * time.Second)))
	s.Status().SetCode(m.status)
	s.Status().SetMessage(m.message)
	if err := s.Attributes().FromRaw(m.attributes); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.events {
		event := s.Events().AppendEmpty()
		event.SetName(e.name)
		event.SetTimestamp(pcommon.NewTimestampFromTime(madeStart.Add(e.after)))
		if err := event.Attributes().FromRaw(e.attributes); err != nil {
			t.Fatal(err)
		}
	}
	if m.link != nil {
		l := s.Links().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{9})
		l.SetSpanID(*m.link)
	}
	return s
}

func (m made) facts(t testing.TB, names ...string) *Facts {
	t.Helper()
	scope := pcommon.NewInstrumentationScope()
	scope.SetName(m.scope)
	var f Facts
	New(names...).Span(&f, scope, m.span(t))
	return &f
}

// a is short for attributes in tables.
type a = map[string]any

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		why  string
		made made
		want Kind
	}{
		{"OpenInference goes before OpenTelemetry", made{attributes: a{"openinference.span.kind": "TOOL", "gen_ai.operation.name": "chat"}}, Tool},
		{"a word that nobody knows leaves it to the next vocabulary",
			made{attributes: a{"gen_ai.operation.name": "model_generation", "mastra.span.type": "model_generation"}}, Step},
		{"unknown is transparent", made{attributes: a{"openinference.span.kind": "UNKNOWN"}}, Step},
		{"a new word of a known key", made{attributes: a{"gen_ai.operation.name": "dream"}}, Unrecognised},
		{"llm.request.type is a kind key", made{attributes: a{"llm.request.type": "chat"}}, Model},
		{"LangSmith's retriever says embeddings", made{attributes: a{"langsmith.span.kind": "retriever", "gen_ai.operation.name": "embeddings"}}, Retrieval},
		{"embeddings are no model call", made{attributes: a{"gen_ai.operation.name": "embeddings"}}, Step},
		{"CrewAI calls tasks agents", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "traceloop.span.kind": "task"}}, Step},
		{"gen_ai.* without a kind is no kind", made{kind: ptrace.SpanKindClient, attributes: a{"gen_ai.conversation.id": "c", "gen_ai.agent.name": "x"}}, Other},
		{"an HTTP span with baggage", made{kind: ptrace.SpanKindClient, attributes: a{"http.request.method": "POST", "gen_ai.operation.name": "chat"}}, Other},
		{"a queue's span with baggage", made{attributes: a{"messaging.system": "kafka", "gen_ai.operation.name": "invoke_agent"}}, Other},
		{"unless an AI instrumentation says so", made{scope: "@traceloop/instrumentation-openai",
			attributes: a{"http.method": "POST", "gen_ai.operation.name": "chat"}}, Model},
		{"a bare client of a known scope", made{scope: "openinference.instrumentation.openai", name: "x"}, Unrecognised},
		{"Lambda's invocation is not ADK's", made{name: "invocation"}, Other},
		{"ADK's is", made{scope: "gcp.vertex.agent", name: "invocation"}, Agent},
		{"by an attribute of its own too", made{name: "call_llm", attributes: a{"gcp.vertex.agent.invocation_id": "e-1"}}, Model},
		{"but not by its name", made{name: "call_llm", attributes: a{"x": "y"}}, Other},
		{"an agent made is not an agent run", made{attributes: a{"gen_ai.operation.name": "create_agent"}}, Ignore},
		{"Logfire's pending copies", made{attributes: a{"gen_ai.operation.name": "chat", "logfire.span_type": "pending_span"}}, Ignore},
		{"Pydantic AI's old names", made{scope: "pydantic-ai", name: "agent run", attributes: a{"agent_name": "x"}}, Agent},
		{"and its tools", made{scope: "pydantic-ai", name: "running tool", attributes: a{"gen_ai.tool.name": "x"}}, Tool},
		{"and the step round them", made{scope: "pydantic-ai", name: "running 2 tools"}, Step},
		{"anybody's run is not Pydantic AI's", made{name: "cron run", attributes: a{"model_name": "x", "agent_name": "y"}}, Other},
		{"Agent Framework's workflow", made{scope: "agent_framework", name: "workflow.run", attributes: a{"workflow.id": "w"}}, Agent},
		{"and what runs in it", made{scope: "agent_framework", name: "executor.process writer"}, Step},
		{"anybody's workflow.run", made{name: "workflow.run", attributes: a{"workflow.id": "w"}}, Other},
		{"an old error mark does not hide ADK's marks", made{scope: "gcp.vertex.agent", name: "execute_tool f", attributes: a{"error": "x"}}, Tool},
		{"Claude Code by name", made{scope: "com.anthropic.claude_code", name: "claude_code.interaction"}, Agent},
		{"someone's span.type", made{name: "GET /", attributes: a{"span.type": "web"}}, Other},
		{"MLflow writes JSON", made{attributes: a{"mlflow.spanType": `"CHAT_MODEL"`}}, Model},
		{"Gemini CLI's own words", made{attributes: a{"gen_ai.operation.name": "user_prompt"}}, Agent},
		{"operation.name has the function id behind it", made{attributes: a{"operation.name": "ai.toolCall support"}}, Tool},
		{"Traceloop's conversations wrap runs", made{name: "conversation.77.workflow",
			attributes: a{"traceloop.span.kind": "workflow", "traceloop.entity.name": "conversation.77"}}, Step},
		{"a workflow of that name is one", made{name: "conversation.workflow",
			attributes: a{"traceloop.span.kind": "workflow", "traceloop.entity.name": "conversation"}}, Agent},
	} {
		if got := c.made.facts(t).Kind; got != c.want {
			t.Errorf("%s: got %d, want %d", c.why, got, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	const u = Unknown
	chat := func(more a) a {
		more["gen_ai.operation.name"] = "chat"
		return more
	}
	for _, c := range []struct {
		why  string
		made made
		want Usage
	}{
		{"deprecated names", made{attributes: chat(a{"gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 5})}, Usage{10, u, u, 5, u}},
		{"current names win", made{attributes: chat(a{"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.input_tokens": 10})}, Usage{10, u, u, u, u}},
		{"numbers as text and as doubles", made{attributes: chat(a{"gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": 5.0})}, Usage{10, u, u, 5, u}},
		{"no number", made{attributes: chat(a{"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": true})}, UnknownUsage},
		{"not a count", made{attributes: chat(a{"gen_ai.usage.input_tokens": -1, "gen_ai.usage.output_tokens": math.NaN(),
			"gen_ai.usage.cache_read.input_tokens": 1e308, "gen_ai.usage.reasoning_tokens": math.Inf(1)})}, UnknownUsage},
		{"cached input is a part", made{attributes: chat(a{"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 60,
			"gen_ai.usage.cache_creation.input_tokens": 40})}, Usage{100, 60, 40, u, u}},
		{"more cached than input: it was left out", made{attributes: chat(a{"gen_ai.usage.input_tokens": 4, "gen_ai.usage.cache_read.input_tokens": 29447,
			"gen_ai.usage.cache_write.input_tokens": 2861})}, Usage{4 + 29447 + 2861, 29447, 2861, u, u}},
		{"more reasoning than output: it was left out", made{attributes: chat(a{"gen_ai.usage.output_tokens": 3, "gen_ai.usage.reasoning.output_tokens": 20})},
			Usage{u, u, u, 23, 20}},
		{"the total shows that reasoning was left out", made{attributes: chat(a{"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 30,
			"gen_ai.usage.reasoning_tokens": 20, "gen_ai.usage.total_tokens": 150})}, Usage{100, u, u, 50, 20}},
		{"one vocabulary: AgentCore adds OpenTelemetry's", made{attributes: a{"openinference.span.kind": "LLM", "llm.token_count.prompt": 100,
			"llm.token_count.completion": 7, "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 7,
			"gen_ai.usage.cache_read.input_tokens": 60}}, Usage{100, u, u, 7, u}},
		{"Claude's SDK with the cached numbers", made{scope: "openinference.instrumentation.claude_agent_sdk", attributes: a{
			"openinference.span.kind": "AGENT", "llm.token_count.prompt": 5000, "llm.token_count.prompt_details.cache_read": 3000,
			"llm.token_count.completion": 9}}, Usage{8000, 3000, u, 9, u}},
		{"Claude's SDK whose scope got lost", made{name: "ClaudeAgentSDK.query", attributes: a{"openinference.span.kind": "AGENT",
			"llm.token_count.prompt": 4, "llm.token_count.completion": 10}}, Usage{u, u, u, 10, u}},
		{"and in JavaScript, with the cached numbers", made{name: "ClaudeAgent.query", attributes: a{"openinference.span.kind": "AGENT",
			"llm.token_count.prompt": 5000, "llm.token_count.prompt_details.cache_read": 3000}}, Usage{8000, 3000, u, u, u}},
		{"anybody's query", made{name: "Agent.query", attributes: a{"openinference.span.kind": "AGENT", "llm.token_count.prompt": 4}},
			Usage{4, u, u, u, u}},
		{"Claude Code leaves out the cache", made{name: "claude_code.llm_request", scope: "com.anthropic.claude_code", attributes: a{
			"input_tokens": 5000, "cache_read_tokens": 3000, "cache_creation_tokens": 100, "output_tokens": 9}}, Usage{8100, 3000, 100, 9, u}},
		{"and without its number input is not known", made{name: "claude_code.llm_request", scope: "com.anthropic.claude_code", attributes: a{
			"input_tokens": 5000, "output_tokens": 9}}, Usage{u, u, u, 9, u}},
		{"bare names are nobody else's", made{attributes: chat(a{"input_tokens": 5000})}, UnknownUsage},
		{"Bedrock through Strands leaves out the cache", made{scope: "strands-agents", attributes: chat(a{
			"gen_ai.request.model": "us.anthropic.claude-sonnet-4", "gen_ai.usage.input_tokens": 500, "gen_ai.usage.cache_read_input_tokens": 300})},
			Usage{800, 300, u, u, u}},
		{"Pydantic AI's sum", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "gen_ai.aggregated_usage.input_tokens": 12,
			"gen_ai.aggregated_usage.output_tokens": 3}}, Usage{12, u, u, 3, u}},
		{"Langfuse's buckets add up", made{attributes: a{"langfuse.observation.type": "generation",
			"langfuse.observation.usage_details": `{"input":147,"output":24,"total":315,"input_cached_tokens":128,"output_reasoning_tokens":16}`}},
			Usage{275, 128, u, 40, 16}},
		{"unless the total says that they are parts", made{attributes: a{"langfuse.observation.type": "generation",
			"langfuse.observation.usage_details": `{"input":275,"output":40,"total":315,"input_cached_tokens":128,"output_reasoning_tokens":16}`}},
			Usage{275, 128, u, 40, 16}},
		{"Gemini's total, where candidates are missing", made{scope: "gcp.vertex.agent", name: "call_llm", attributes: a{"gen_ai.request.model": "g",
			"gcp.vertex.agent.llm_response": `{"usage_metadata":{"prompt_token_count":10,"total_token_count":25}}`}}, Usage{10, u, u, 15, u}},
		{"MLflow's JSON", made{attributes: a{"mlflow.spanType": `"LLM"`, "mlflow.chat.tokenUsage": `{"input_tokens":10,"output_tokens":2,"total_tokens":12}`}},
			Usage{10, u, u, 2, u}},
		{"Vercel 3", made{attributes: a{"ai.operationId": "ai.generateText.doGenerate", "ai.usage.promptTokens": 10, "ai.usage.completionTokens": 2}},
			Usage{10, u, u, 2, u}},
	} {
		if got := c.made.facts(t).Usage; got != c.want {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
	}
}

func TestCost(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why        string
		attributes a
		want       float64
	}{
		{"none", a{}, nan},
		{"OpenInference", a{"llm.cost.total": 0.5}, 0.5},
		{"its parts", a{"llm.cost.prompt": 0.5, "llm.cost.completion": 0.25}, 0.75},
		{"one part is not the cost", a{"llm.cost.prompt": 0.5}, nan},
		{"proposed", a{"gen_ai.usage.cost.amount": 0.5, "gen_ai.usage.cost.currency": "USD"}, 0.5},
		{"not USD", a{"gen_ai.usage.cost.amount": 0.5, "gen_ai.usage.cost.currency": "EUR"}, nan},
		{"text", a{"gen_ai.usage.cost": "0.5"}, 0.5},
		{"Langfuse", a{"langfuse.observation.cost_details": `{"input":0.1,"total":0.5}`}, 0.5},
		{"MLflow", a{"mlflow.llm.cost": `{"total_cost":0.5}`}, 0.5},
		{"Pydantic AI", a{"operation.cost": 0.5}, 0.5},
		{"no money", a{"llm.cost.total": -1}, nan},
		{"no number", a{"llm.cost.total": nan}, nan},
		{"absurd", a{"llm.cost.total": 1e308}, nan},
	} {
		c.attributes["gen_ai.operation.name"] = "chat"
		got := made{attributes: c.attributes}.facts(t).CostUSD
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: got %g, want %g", c.why, got, c.want)
		}
	}
}

func TestFirstToken(t *testing.T) {
	for _, c := range []struct {
		why  string
		made made
		want float64
	}{
		{"seconds", made{attributes: a{"gen_ai.response.time_to_first_chunk": 0.5}}, 0.5},
		{"milliseconds", made{attributes: a{"ai.response.msToFirstChunk": 500}}, 0.5},
		{"a point in time, in quotes", made{attributes: a{"langfuse.observation.completion_start_time": `"2026-03-01T12:00:00.500Z"`}}, 0.5},
		{"a point outside of the span says nothing", made{attributes: a{"mastra.completion_start_time": "2026-03-01T11:59:59Z"}}, math.NaN()},
		{"an event", made{events: []madeEvent{{name: "ai.stream.firstChunk", after: 500 * time.Millisecond}}}, 0.5},
		{"the first chunk of many", made{events: []madeEvent{{name: "llm.content.completion.chunk", after: 500 * time.Millisecond},
			{name: "llm.content.completion.chunk", after: time.Second}}}, 0.5},
		{"none", made{}, math.NaN()},
		{"no time", made{attributes: a{"gen_ai.response.time_to_first_chunk": -1}}, math.NaN()},
	} {
		if c.made.attributes == nil {
			c.made.attributes = a{}
		}
		c.made.attributes["gen_ai.operation.name"] = "chat"
		if got := c.made.facts(t).FirstToken; got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: got %g, want %g", c.why, got, c.want)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		why       string
		key       string
		reply     any
		out, asks bool
		finish    Finish
	}{
		{"text", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Hi"}],"finish_reason":"stop"}]`, true, false, FinishStop},
		{"empty text", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":" "}]}]`, false, false, FinishNone},
		{"a tool call", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":{"text":"Hi"}}]}]`, false, true, FinishNone},
		{"reasoning is no reply", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"reasoning","content":"hmm"}]}]`, false, false, FinishNone},
		{"a tool's result is no reply", "gen_ai.output.messages", `[{"role":"tool","parts":[{"type":"tool_call_response","response":{"text":"Hi"}}]}]`, false, false, FinishNone},
		{"role behind the parts", "gen_ai.output.messages", `[{"parts":[{"type":"text","content":"Hi"}],"role":"user"}]`, false, false, FinishNone},
		{"structured", "gen_ai.output.messages", []any{a{"role": "assistant", "parts": []any{a{"type": "text", "content": "Hi"}}}}, true, false, FinishNone},
		{"structured call", "gen_ai.output.messages", []any{a{"role": "assistant", "parts": []any{a{"type": "tool_call", "id": "c", "name": "f"}}}}, false, true, FinishNone},
		{"structured call of Strands", "gen_ai.output.messages", []any{a{"role": "assistant", "content": []any{
			a{"toolUse": a{"toolUseId": "c", "name": "f", "input": a{"text": "Hi"}}}}, "stop_reason": "tool_use"}}, false, true, FinishTool},
		{"structured call of Gemini", "gcp.vertex.agent.llm_response", a{"content": a{"role": "model", "parts": []any{
			a{"functionCall": a{"name": "f", "args": a{"text": "Hi"}}}}}, "finishReason": "STOP"}, false, true, FinishTool},
		{"a user who writes of tool calls", "gen_ai.output.messages",
			`[{"role":"assistant","parts":[{"type":"text","content":"{\"type\":\"tool_call\",\"name\":\"x\"}"}]}]`, true, false, FinishNone},
		{"OpenAI's message", "langfuse.observation.output", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`, false, true, FinishNone},
		{"plain text", "gen_ai.output", "Hi", true, false, FinishNone},
		{"text in brackets", "gen_ai.output", "[Hi]", true, false, FinishNone},
		{"redacted", "gen_ai.output", "***", false, false, FinishNone},
		{"cut off", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Hi there`, false, false, FinishNone},
		{"cut off behind the text", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Hi"},{"type":"te`, true, false, FinishNone},
		{"numbered", "gen_ai.completion.0.content", "Hi", true, false, FinishNone},
		{"numbered call", "gen_ai.completion.0.tool_calls.0.name", "f", false, true, FinishNone},
		{"numbered reason", "gen_ai.completion.0.finish_reason", "length", false, false, FinishLength},
		{"OpenInference", "llm.output_messages.0.message.content", "Hi", true, false, FinishNone},
		{"OpenInference parts", "llm.output_messages.0.message.contents.0.message_content.text", "Hi", true, false, FinishNone},
		{"OpenInference call", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "f", false, true, FinishNone},
		{"Vercel", "ai.response.toolCalls", `[{"toolCallId":"c","toolName":"f","input":"{}"}]`, false, true, FinishNone},
	} {
		f := made{attributes: a{"gen_ai.operation.name": "chat", c.key: c.reply}}.facts(t)
		if f.HasOutput != c.out || f.AsksTool != c.asks || f.Finish != c.finish {
			t.Errorf("%s: out %v asks %v finish %d, want %v %v %d", c.why, f.HasOutput, f.AsksTool, f.Finish, c.out, c.asks, c.finish)
		}
		if c.asks && (len(f.Asked) != 1 || f.Asked[0].Name != "f") {
			t.Errorf("%s: asked %v", c.why, f.Asked)
		}
	}
}

// An output tool has no span: that the model asked for it is all there is, also
// with the content off.
func TestAskedForWithoutContent(t *testing.T) {
	messages := []any{a{"role": "assistant", "parts": []any{a{"type": "tool_call", "id": "c1", "name": "final_result"}}, "finish_reason": "tool_call"}}
	text := `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"final_result"}],"finish_reason":"tool_call"}]`
	for _, reply := range []any{messages, text} {
		f := made{scope: "pydantic-ai", attributes: a{"gen_ai.operation.name": "chat", "gen_ai.output.messages": reply}}.facts(t)
		if !f.AsksTool || f.Finish != FinishTool || len(f.Asked) != 1 || !reflect.DeepEqual(f.Asked[0], AskedCall{Name: "final_result", CallID: identity("c1")}) {
			t.Errorf("%T: asks %v, finish %v, %v", reply, f.AsksTool, f.Finish, f.Asked)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		why    string
		output any
		want   bool
	}{
		{"text", "Hi", true},
		{"nothing", "", false},
		{"space", " \n", false},
		{"null", "null", false},
		{"empty object", "{}", false},
		{"empty string in JSON", `""`, false},
		{"string in JSON", `"Hi"`, true},
		{"an application's result", `{"answer":"Hi","stop":"stop"}`, true},
		{"an application's empty result", `{"answer":"","stop":"max_steps"}`, false},
		{"a result without a usual name", `{"status":"shipped"}`, true},
		{"redacted", "__REDACTED__", false},
		{"a number", 42, true},
		{"the last message is the model's", `{"messages":[{"type":"human","content":"Hi?"},{"type":"ai","content":"Hi","tool_calls":[]}]}`, true},
		{"the last message asks for a tool", `{"messages":[{"type":"human","content":"Hi?"},{"type":"ai","content":"","tool_calls":[{"name":"f"}]}]}`, false},
		{"it asks with some words", `{"messages":[{"type":"ai","content":"Let me see","tool_calls":[{"name":"f"}]}]}`, false},
		{"the last message is a tool's", `{"messages":[{"type":"tool","content":"42","tool_call_id":"c"}]}`, false},
		{"the last message is the person's", `{"messages":[{"role":"user","content":"Hi?"}]}`, false},
	} {
		f := made{attributes: a{"openinference.span.kind": "AGENT", "output.value": c.output}}.facts(t)
		if f.HasOutput != c.want {
			t.Errorf("%s: %v", c.why, f.HasOutput)
		}
	}
	failed := made{status: ptrace.StatusCodeError, attributes: a{"openinference.span.kind": "AGENT", "output.value": `["Reached maximum number of turns (6)"]`}}
	if failed.facts(t).HasOutput {
		t.Error("what a failed root carries is no answer")
	}
	below := made{parent: true, flags: 0x101, attributes: a{"openinference.span.kind": "CHAIN", "output.value": "Hi"}}
	if below.facts(t).HasOutput {
		t.Error("a chain below another span of its process is no root")
	}
	remote := made{parent: true, flags: 0x301, attributes: a{"openinference.span.kind": "CHAIN", "output.value": "Hi"}}
	if !remote.facts(t).HasOutput {
		t.Error("a chain below another process may be a root")
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		why             string
		made            made
		agent, workflow string
		placeholder     bool
		runID           string
	}{
		{"OpenAI Agents' default", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Agent"}}, "Agent", "", true, ""},
		{"Traceloop's default", made{attributes: a{"traceloop.span.kind": "workflow", "traceloop.entity.name": "Agent Workflow"}}, "", "Agent Workflow", true, ""},
		{"a name that looks like one", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agents"}}, "agents", "", false, ""},
		{"Pydantic AI's run", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.call.id": "r1", "gen_ai.conversation.id": "c"}}, "", "", false, "r1"},
		{"a conversation is no run", made{attributes: a{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c", "session.id": "s"}}, "", "", false, ""},
		{"Claude Code's prompt", made{name: "claude_code.interaction", attributes: a{"prompt.id": "p1", "session.id": "s"}, scope: "com.anthropic.claude_code"}, "", "", false, "p1"},
		{"Gemini CLI's prompt", made{attributes: a{"gen_ai.operation.name": "user_prompt", "gen_ai.prompt.name": "s########3"}}, "", "", false, "s########3"},
		{"a prompt template is no run", made{attributes: a{"gen_ai.operation.name": "chat", "gen_ai.prompt.name": "greeting"}}, "", "", false, ""},
		{"Vercel's function id", made{attributes: a{"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "support"}}, "support", "", false, ""},
		{"OpenInference's graph node", made{attributes: a{"openinference.span.kind": "AGENT", "graph.node.id": "n"}}, "n", "", false, ""},
		{"and its own name first", made{attributes: a{"openinference.span.kind": "AGENT", "graph.node.id": "n", "agent.name": "x"}}, "x", "", false, ""},
		{"Langfuse's span name", made{name: "support", attributes: a{"langfuse.observation.type": "agent"}}, "support", "", false, ""},
		{"Logfire's span name", made{scope: "logfire.openai_agents", name: "Agent run: 'triage'"}, "triage", "", false, ""},
	} {
		f := c.made.facts(t)
		if f.AgentName != c.agent || f.WorkflowName != c.workflow || f.Placeholder != c.placeholder || f.RunID != c.runID {
			t.Errorf("%s: agent %q workflow %q placeholder %v run %q", c.why, f.AgentName, f.WorkflowName, f.Placeholder, f.RunID)
		}
	}
}

func TestTools(t *testing.T) {
	tool := func(more a) made {
		more["gen_ai.operation.name"] = "execute_tool"
		return made{attributes: more}
	}
	f := tool(a{"gen_ai.tool.call.id": "<not specified>"}).facts(t)
	equal(t, "no id", f.CallID, 0)
	x, y := tool(a{"gen_ai.tool.call_id": "c"}).facts(t), tool(a{"gen_ai.tool.call.id": "c"}).facts(t)
	equal(t, "Gemini CLI's id", x.CallID, y.CallID)
	if x.CallID == 0 {
		t.Error("no id")
	}
	f = tool(a{"gen_ai.tool.call.arguments": "null", "gen_ai.tool.call.result": "[]"}).facts(t)
	equal(t, "empty arguments", f.HasArgs && f.ArgsEmpty, true)
	equal(t, "empty result", f.HasResult && f.ResultEmpty, true)
	f = tool(a{"gen_ai.tool.call.arguments": "<REDACTED>"}).facts(t)
	equal(t, "redacted", f.HasArgs, false)
	f = tool(a{"gen_ai.tool.call.result": `{"error":"NOT_FOUND"}`}).facts(t)
	equal(t, "a returned error is a success", f.Failed, false)
	f = tool(a{"gen_ai.tool.call.result": `{"content":[{"type":"text","text":"no"}],"isError":true}`}).facts(t)
	equal(t, "MCP says that it failed", f.Failed, true)
	f = tool(a{"error.type": "tool_error"}).facts(t)
	equal(t, "error.type without status", f.Failed, true)
	f = tool(a{"pydantic_ai.tool.failure_stage": "validation"}).facts(t)
	equal(t, "Pydantic AI's arguments were wrong", f.Class, BadArgs)
	m := tool(a{"pydantic_ai.tool.deferral.name": "ApprovalRequired"})
	m.status = ptrace.StatusCodeError
	f = m.facts(t)
	equal(t, "a pause is no failure", f.Failed, false)
	equal(t, "a pause", f.Failure, FailurePaused)
	equal(t, "approval", f.ClientSide, false)
	f = tool(a{"pydantic_ai.tool.deferral.name": "CallDeferred"}).facts(t)
	equal(t, "executed elsewhere", f.ClientSide, true)
	f = made{name: "claude_code.tool.blocked_on_user", scope: "com.anthropic.claude_code"}.facts(t)
	equal(t, "Claude Code waits", f.WaitsForPerson, true)
	f = made{attributes: a{"mcp.method.name": "elicitation/create"}}.facts(t)
	equal(t, "MCP asks a person", f.WaitsForPerson, true)
	f = made{attributes: a{"gen_ai.operation.name": "agent_handoff"}, status: ptrace.StatusCodeError}.facts(t)
	equal(t, "a handoff's name", f.ToolName, "agent_handoff")
	f = made{attributes: a{"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.prompt": `{"x":1}`, "gen_ai.completion": `{"y":2}`}, name: "lookup"}.facts(t)
	equal(t, "LangSmith's tool", f.ToolName, "lookup")
	equal(t, "LangSmith's arguments", f.ArgsHash, canonicalText(`{"x":1}`).hash)
	equal(t, "LangSmith's result", f.ResultHash, canonicalText(`{"y":2}`).hash)
}

func TestToolsOffered(t *testing.T) {
	for _, c := range []struct {
		why  string
		more a
		want uint8
	}{
		{"not said", a{}, 0},
		{"none", a{"gen_ai.tool.definitions": "[]"}, 1},
		{"some", a{"gen_ai.tool.definitions": `[{"name":"f"}]`}, 2},
		{"structured", a{"gen_ai.tool.definitions": []any{"f"}}, 2},
		{"numbered", a{"llm.tools.0.tool.json_schema": "{}"}, 2},
		{"Pydantic AI", a{"model_request_parameters": `{"function_tools":[{"name":"f"}]}`}, 2},
		{"Pydantic AI, none", a{"model_request_parameters": `{"function_tools":[],"output_tools":[]}`}, 1},
		{"a person who writes of tools", a{"gcp.vertex.agent.llm_request": `{"contents":"\"tools\":[1]"}`}, 0},
	} {
		c.more["gen_ai.operation.name"] = "chat"
		if got := (made{attributes: c.more}).facts(t).ToolsOffered; got != c.want {
			t.Errorf("%s: got %d, want %d", c.why, got, c.want)
		}
	}
}

func TestCallerGone(t *testing.T) {
	for _, c := range []struct {
		why  string
		made made
		want bool
	}{
		{"499", made{kind: ptrace.SpanKindServer, attributes: a{"http.request.method": "POST", "http.response.status_code": 499}}, true},
		{"499, old name, as text", made{kind: ptrace.SpanKindServer, attributes: a{"http.method": "POST", "http.status_code": "499"}}, true},
		{"a failure of ours", made{kind: ptrace.SpanKindServer, status: ptrace.StatusCodeError, attributes: a{"http.response.status_code": 502}}, false},
		{"gRPC cancelled", made{kind: ptrace.SpanKindServer, attributes: a{"rpc.grpc.status_code": 1}}, true},
		{"our own call was cancelled", made{kind: ptrace.SpanKindClient, attributes: a{"rpc.grpc.status_code": 1}}, false},
		{"Starlette", made{kind: ptrace.SpanKindServer, status: ptrace.StatusCodeError,
			events: []madeEvent{{name: "exception", attributes: a{"exception.type": "starlette.requests.ClientDisconnect"}}}}, true},
		{"an internal task was cancelled", made{events: []madeEvent{{name: "exception", attributes: a{"exception.type": "asyncio.exceptions.CancelledError"}}}}, false},
		{"status text", made{kind: ptrace.SpanKindServer, status: ptrace.StatusCodeError, message: "Client closed request"}, true},
	} {
		f := c.made.facts(t)
		equal(t, c.why+": kind", f.Kind, Other)
		equal(t, c.why, f.CallerGone, c.want)
	}
}

func TestParentLocal(t *testing.T) {
	for _, c := range []struct {
		flags  uint32
		parent bool
		want   bool
	}{{0x101, true, true}, {0x301, true, false}, {0x001, true, false}, {0x101, false, false}} {
		if got := (made{flags: c.flags, parent: c.parent}).facts(t).ParentLocal; got != c.want {
			t.Errorf("flags %x parent %v: %v", c.flags, c.parent, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	names := []string{"service.version", "gen_ai.agent.name", "http.response.status_code", "app.flags", "x"}
	f := made{attributes: a{"http.response.status_code": 200, "gen_ai.agent.name": "x", "app.flags": []any{"a", true}, "x": 1.5, "y": "no"}}.facts(t, names...)
	got := map[string]string{}
	for _, v := range f.Attributes {
		got[names[v.Name]] = v.Value
	}
	for k, v := range map[string]string{"gen_ai.agent.name": "x", "http.response.status_code": "200", "app.flags": `["a",true]`, "x": "1.5"} {
		equal(t, k, got[k], v)
	}
	equal(t, "attributes", len(got), 4)
	equal(t, "its own fact too", f.AgentName, "x")

	r := pcommon.NewResource()
	_ = r.Attributes().FromRaw(a{"service.name": "shop", "deployment.environment": "old", "deployment.environment.name": "prod", "service.version": "1.2"})
	resource := New(names...).Resource(r)
	equal(t, "service", resource.Service, "shop")
	equal(t, "environment", resource.Environment, "prod")
	equal(t, "captured", len(resource.Attributes), 1)
	equal(t, "captured value", resource.Attributes[0], Attribute{0, "1.2"})
	r = pcommon.NewResource()
	r.Attributes().PutStr("deployment.environment", "old")
	equal(t, "older name", New().Resource(r).Environment, "old")
}

func TestLog(t *testing.T) {
	record := func(name string, more a) plog.LogRecord {
		r := plog.NewLogRecord()
		r.SetEventName(name)
		r.SetTraceID(madeTrace)
		r.SetSpanID(madeSpan)
		r.SetTimestamp(pcommon.NewTimestampFromTime(madeStart))
		if err := r.Attributes().FromRaw(more); err != nil {
			t.Fatal(err)
		}
		return r
	}
	scope := pcommon.NewInstrumentationScope()
	x := New("app.tenant")
	var f Facts
	for _, r := range []plog.LogRecord{
		record("gen_ai.evaluation.result", a{"gen_ai.evaluation.name": "correctness", "gen_ai.evaluation.score.value": 0.7,
			"gen_ai.evaluation.score.label": "pass", "gen_ai.response.id": "resp_1", "app.tenant": "acme", "gen_ai.agent.call.id": "r1"}),
		record("", a{"event.name": "gen_ai.evaluation.result", "gen_ai.evaluation.name": "correctness", "gen_ai.evaluation.score.value": "0.7",
			"gen_ai.evaluation.score.label": "pass", "gen_ai.response.id": "resp_1", "app.tenant": "acme", "gen_ai.agent.call.id": "r1"}),
	} {
		if !x.Log(&f, scope, r) {
			t.Fatal("an evaluation says something of a run")
		}
		equal(t, "evaluations", len(f.Evaluations), 1)
		equal(t, "evaluation", f.Evaluations[0], Evaluation{Name: "correctness", Label: "pass", Score: 0.7, Time: uint64(madeStart.UnixNano()),
			TargetTrace: madeTrace, TargetSpan: madeSpan, TargetResponse: identity("resp_1"), TargetRunID: "r1"})
		equal(t, "attribute", f.Attributes[0], Attribute{0, "acme"})
		equal(t, "run id", f.RunID, "r1")
	}
	if !x.Log(&f, scope, record("gen_ai.evaluation.result", a{"gen_ai.evaluation.name": "c", "error.type": "timeout"})) || !f.Evaluations[0].Failed {
		t.Error("an evaluator that failed gives no verdict")
	}
	if !x.Log(&f, scope, record("gen_ai.agent.paused", a{"gen_ai.agent.pause.reason": "approval"})) || f.Failure != FailurePaused {
		t.Error("a pause says something of a run")
	}
	if x.Log(&f, scope, record("gen_ai.user.message", a{})) || x.Log(&f, scope, record("", a{})) {
		t.Error("messages say nothing")
	}
}
