// Package agenttrace makes the spans of agent runs that tests and benchmarks
// measure on: the same ones every time, of the size and shape that an
// instrumented agent sends, by the OpenTelemetry GenAI conventions.
package agenttrace

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// SpansPerRun is the number of spans of every run: the agent, seven model calls,
// six tool calls, and the HTTP request of six of the model calls.
const SpansPerRun = 20

const turns = 7 // model calls; all but the last one ask for a tool

// epoch is when the first run starts; each later run starts a second later.
var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Run returns run n: spans in the order in which they ended, the root last. The
// same n gives the same bytes.
func Run(n int) ptrace.Traces {
	traces := ptrace.NewTraces()
	append20(traces, n)
	return traces
}

// Requests returns the spans of count runs, from run first on, as the export
// requests in which they would arrive: perRequest spans each, as spans end, of
// up to eight runs at a time.
func Requests(first, count, perRequest int) []ptrace.Traces {
	var requests []ptrace.Traces
	var request ptrace.Traces
	room := 0
	for at := 0; at < count; at += interleaved {
		group := make([]spans, 0, interleaved)
		for n := at; n < min(at+interleaved, count); n++ {
			group = append(group, newSpans(first+n))
		}
		for i := range SpansPerRun {
			for _, run := range group {
				if room == 0 {
					request = ptrace.NewTraces()
					requests = append(requests, request)
					room = perRequest
				}
				run.list[i].MoveTo(scopeOf(request, run.service).Spans().AppendEmpty())
				room--
			}
		}
	}
	return requests
}

const interleaved = 8

// spans of one run in the order in which they end.
type spans struct {
	service string
	list    []ptrace.Span
}

func append20(to ptrace.Traces, n int) {
	run := newSpans(n)
	scope := scopeOf(to, run.service)
	for _, span := range run.list {
		span.MoveTo(scope.Spans().AppendEmpty())
	}
}

// scopeOf is the scope of the service's resource in to, made when it is not there.
func scopeOf(to ptrace.Traces, service string) ptrace.ScopeSpans {
	for i := range to.ResourceSpans().Len() {
		rs := to.ResourceSpans().At(i)
		if name, _ := rs.Resource().Attributes().Get("service.name"); name.Str() == service {
			return rs.ScopeSpans().At(0)
		}
	}
	rs := to.ResourceSpans().AppendEmpty()
	attributes := rs.Resource().Attributes()
	attributes.PutStr("service.name", service)
	attributes.PutStr("service.version", "1.4.2")
	attributes.PutStr("deployment.environment.name", "prod")
	attributes.PutStr("cloud.region", "eu-west-1")
	attributes.PutStr("telemetry.sdk.language", "go")
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("github.com/example/shop/agent")
	scope.Scope().SetVersion("0.9.0")
	return scope
}

var (
	services = []string{"support-agent", "orders-agent", "returns-agent", "billing-agent"}
	tools    = []string{"get_order_status", "search_docs", "get_refund_policy", "list_orders", "get_customer"}
	words    = strings.Fields("order shipped carrier parcel refund return policy days shoes unworn customer address invoice " +
		"payment card delivered depot tracking number please check status pending warehouse label courier window")
)

func newSpans(n int) spans {
	random := rand.New(rand.NewPCG(20, uint64(n)))
	b := builder{random: random, clock: epoch.Add(time.Duration(n) * time.Second)}
	binary.BigEndian.PutUint64(b.trace[:8], random.Uint64())
	binary.BigEndian.PutUint64(b.trace[8:], uint64(n)+1)
	agent := services[n%len(services)]
	root := b.span("invoke_agent "+agent, pcommon.SpanID{})
	root.SetKind(ptrace.SpanKindInternal)
	history := []string{message("user", text("Where is my order? "+b.sentence(12)))}

	var input, output int64
	var list []ptrace.Span
	for turn := range turns {
		last := turn == turns-1
		chat := b.span("chat gpt-4o-mini", root.SpanID())
		chat.SetKind(ptrace.SpanKindClient)
		if !last {
			request := b.span("POST", chat.SpanID())
			request.SetKind(ptrace.SpanKindClient)
			a := request.Attributes()
			a.PutStr("http.request.method", "POST")
			a.PutStr("server.address", "api.openai.com")
			a.PutInt("server.port", 443)
			a.PutStr("url.full", "https://api.openai.com/v1/chat/completions")
			b.end(request, 400)
			a.PutInt("http.response.status_code", 200)
			list = append(list, request)
		}
		callID := fmt.Sprintf("call_%016x", random.Uint64())
		tool := tools[random.IntN(len(tools))]
		arguments := fmt.Sprintf(`{"order_id":"A-%04d","query":%q}`, random.IntN(10000), b.sentence(6))
		reply, finish := message("assistant", toolCall(callID, tool, arguments)), "tool_calls"
		if last {
			reply, finish = message("assistant", text(b.sentence(40))), "stop"
		}
		in, out := int64(200+75*turn), int64(18)
		if last {
			out = 64
		}
		input, output = input+in, output+out

		a := chat.Attributes()
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.request.model", "gpt-4o-mini")
		a.PutStr("gen_ai.agent.name", agent)
		a.PutStr("gen_ai.system_instructions", `[{"type":"text","content":"You are a support agent of a web shop. Always use the tools to look up facts about orders."}]`)
		a.PutStr("gen_ai.input.messages", "["+strings.Join(history, ",")+"]")
		a.PutStr("gen_ai.tool.definitions", toolDefinitions)
		a.PutStr("gen_ai.output.messages", "["+reply+"]")
		a.PutStr("gen_ai.response.model", "gpt-4o-mini-2024-07-18")
		a.PutStr("gen_ai.response.id", fmt.Sprintf("chatcmpl_%016x", random.Uint64()))
		a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(finish)
		a.PutInt("gen_ai.usage.input_tokens", in)
		a.PutInt("gen_ai.usage.output_tokens", out)
		a.PutInt("gen_ai.usage.cache_read.input_tokens", in/2)
		b.end(chat, 60)
		list = append(list, chat)
		if last {
			break
		}

		call := b.span("execute_tool "+tool, root.SpanID())
		call.SetKind(ptrace.SpanKindInternal)
		a = call.Attributes()
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", tool)
		a.PutStr("gen_ai.tool.call.id", callID)
		a.PutStr("gen_ai.tool.type", "function")
		a.PutStr("gen_ai.tool.call.arguments", arguments)
		var result string
		if random.IntN(10) == 0 {
			result = `{"error":"timeout"}`
			a.PutStr("error.type", "TimeoutError")
			call.Status().SetCode(ptrace.StatusCodeError)
			call.Status().SetMessage("order service timed out after 300 ms")
			event := call.Events().AppendEmpty()
			event.SetName("exception")
			event.Attributes().PutStr("exception.type", "TimeoutError")
			event.Attributes().PutStr("exception.message", "order service timed out after 300 ms")
		} else {
			result = fmt.Sprintf(`{"status":"shipped","carrier":"DHL","note":%q}`, b.sentence(20))
			a.PutStr("gen_ai.tool.call.result", result)
		}
		b.end(call, 120)
		list = append(list, call)
		history = append(history, reply, message("tool", fmt.Sprintf(`{"type":"tool_call_response","id":%q,"response":%s}`, callID, result)))
	}

	a := root.Attributes()
	a.PutStr("gen_ai.operation.name", "invoke_agent")
	a.PutStr("gen_ai.provider.name", "openai")
	a.PutStr("gen_ai.agent.name", agent)
	a.PutStr("gen_ai.conversation.id", fmt.Sprintf("conv-%d", n/3))
	a.PutStr("gen_ai.output.messages", "["+message("assistant", text(b.sentence(40)))+"]")
	a.PutInt("gen_ai.usage.input_tokens", input)
	a.PutInt("gen_ai.usage.output_tokens", output)
	b.end(root, 5)
	return spans{agent, append(list, root)}
}

// toolDefinitions are repeated on each model call, as SDKs do.
var toolDefinitions = func() string {
	var definitions []string
	for _, tool := range tools {
		definitions = append(definitions, fmt.Sprintf(`{"type":"function","name":%q,"description":"Looks up one fact for the customer.",`+
			`"parameters":{"type":"object","properties":{"order_id":{"type":"string"},"query":{"type":"string"}},"required":["order_id"]}}`, tool))
	}
	return "[" + strings.Join(definitions, ",") + "]"
}()

// builder makes spans one after the other on one clock.
type builder struct {
	random *rand.Rand
	clock  time.Time
	trace  pcommon.TraceID
}

func (b *builder) span(name string, parent pcommon.SpanID) ptrace.Span {
	span := ptrace.NewSpan()
	span.SetName(name)
	span.SetTraceID(b.trace)
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], b.random.Uint64()|1)
	span.SetSpanID(id)
	span.SetParentSpanID(parent)
	span.SetFlags(0x101) // sampled, and the parent is known to be local
	b.clock = b.clock.Add(time.Duration(1+b.random.IntN(5)) * time.Millisecond)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(b.clock))
	return span
}

func (b *builder) end(span ptrace.Span, milliseconds int) {
	b.clock = b.clock.Add(time.Duration(1+b.random.IntN(milliseconds)) * time.Millisecond)
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(b.clock))
}

func (b *builder) sentence(n int) string {
	chosen := make([]string, n)
	for i := range chosen {
		chosen[i] = words[b.random.IntN(len(words))]
	}
	return strings.Join(chosen, " ")
}

func message(role, part string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, part)
}

func text(content string) string { return fmt.Sprintf(`{"type":"text","content":%q}`, content) }

func toolCall(id, name, arguments string) string {
	return fmt.Sprintf(`{"type":"tool_call","id":%q,"name":%q,"arguments":%s}`, id, name, arguments)
}
