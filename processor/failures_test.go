package processor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A story is what an agent did, line by line; each line is one tool call that a
// message of the model asks for:
//
//	tool {arguments} -> result
//	tool {arguments} ! what went wrong
//
// + before a line: the same message asks for it, and it runs beside the last.
// # before a line: it is executed in a new trace of the same run, resumed.
// id=x behind the tool is its tool call id, of its own otherwise. The last line
// is answer, or nothing: then the run ends on the last tool call.
type story struct {
	trace   byte
	text    string
	content bool // arguments and results are captured
	models  bool // there are model spans
}

type storyCall struct {
	tool, args, result, fail, id string
	beside, resumed              bool
}

func (s story) calls(t testing.TB) (calls []storyCall, answer bool) {
	for line := range strings.Lines(s.text) {
		line = strings.TrimSpace(line)
		switch line {
		case "":
			continue
		case "answer":
			return calls, true
		}
		var c storyCall
		if rest, ok := strings.CutPrefix(line, "+"); ok {
			c.beside, line = true, strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "#"); ok {
			c.resumed, line = true, strings.TrimSpace(rest)
		}
		call, result, ok := strings.Cut(line, "} -> ")
		if !ok {
			if call, c.fail, ok = strings.Cut(line, "} ! "); !ok {
				t.Fatalf("neither result nor failure: %s", line)
			}
		}
		head, args, ok := strings.Cut(call, "{")
		if !ok {
			t.Fatalf("no arguments: %s", line)
		}
		fields := strings.Fields(head)
		c.tool, c.args, c.result, c.id = fields[0], "{"+args+"}", result, fmt.Sprintf("call_%d_%d", s.trace, len(calls))
		if len(fields) > 1 {
			c.id = strings.TrimPrefix(fields[1], "id=")
		}
		calls = append(calls, c)
	}
	return calls, false
}

// dialect is how an emitter writes the spans of a run.
type dialect struct {
	name  string
	scope string
	root  func(s ptrace.Span, run string)
	model func(s ptrace.Span, asks []storyCall, content bool)
	tool  func(s ptrace.Span, c storyCall, content bool)
	end   func(root ptrace.Span, answered bool) // nil where a root says nothing of its end
}

var dialects = []dialect{otelDialect, openInferenceDialect, vercelDialect}

var otelDialect = dialect{
	name: "otel_genai", scope: "opentelemetry.instrumentation.genai",
	root: func(s ptrace.Span, run string) {
		s.SetName("invoke_agent support")
		s.Attributes().PutStr("gen_ai.operation.name", "invoke_agent")
		s.Attributes().PutStr("gen_ai.agent.name", "support")
		if run != "" {
			s.Attributes().PutStr("app.run", run)
		}
	},
	model: func(s ptrace.Span, asks []storyCall, _ bool) {
		a := s.Attributes()
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.request.model", "gpt-4o-mini")
		a.PutInt("gen_ai.usage.input_tokens", 200)
		a.PutInt("gen_ai.usage.output_tokens", 20)
		a.PutStr("gen_ai.response.id", "resp-"+s.SpanID().String())
		a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(map[bool]string{true: "stop", false: "tool_calls"}[len(asks) == 0])
	},
	tool: func(s ptrace.Span, c storyCall, content bool) {
		a := s.Attributes()
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", c.tool)
		a.PutStr("gen_ai.tool.call.id", c.id)
		if content {
			a.PutStr("gen_ai.tool.call.arguments", c.args)
		}
		if c.fail != "" {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(c.fail)
		} else if content {
			a.PutStr("gen_ai.tool.call.result", c.result)
		}
	},
}

var openInferenceDialect = dialect{
	name: "openinference", scope: "openinference.instrumentation.agents",
	root: func(s ptrace.Span, run string) {
		s.Attributes().PutStr("openinference.span.kind", "AGENT")
		s.Attributes().PutStr("agent.name", "support")
		if run != "" {
			s.Attributes().PutStr("app.run", run)
		}
	},
	model: func(s ptrace.Span, asks []storyCall, content bool) {
		a := s.Attributes()
		a.PutStr("openinference.span.kind", "LLM")
		a.PutStr("llm.model_name", "gpt-4o-mini")
		a.PutInt("llm.token_count.prompt", 200)
		a.PutInt("llm.token_count.completion", 20)
		a.PutStr("llm.output_messages.0.message.role", "assistant")
		if len(asks) == 0 {
			a.PutStr("llm.output_messages.0.message.content", "Done.")
			a.PutStr("llm.finish_reason", "stop")
			return
		}
		a.PutStr("llm.finish_reason", "tool_calls")
		for i, c := range asks {
			prefix := fmt.Sprintf("llm.output_messages.0.message.tool_calls.%d.tool_call.", i)
			a.PutStr(prefix+"id", c.id)
			a.PutStr(prefix+"function.name", c.tool)
			if content {
				a.PutStr(prefix+"function.arguments", c.args)
			}
		}
	},
	tool: func(s ptrace.Span, c storyCall, content bool) {
		a := s.Attributes()
		a.PutStr("openinference.span.kind", "TOOL")
		a.PutStr("tool.name", c.tool)
		a.PutStr("tool.id", c.id)
		hidden := "__REDACTED__"
		a.PutStr("input.value", map[bool]string{true: c.args, false: hidden}[content])
		if c.fail != "" {
			s.Status().SetCode(ptrace.StatusCodeError)
			e := s.Events().AppendEmpty()
			e.SetName("exception")
			e.Attributes().PutStr("exception.type", "ToolException")
			e.Attributes().PutStr("exception.message", c.fail)
			return
		}
		a.PutStr("output.value", map[bool]string{true: c.result, false: hidden}[content])
	},
}

var vercelDialect = dialect{
	name: "vercel", scope: "ai",
	root: func(s ptrace.Span, run string) {
		s.SetName("ai.generateText")
		s.Attributes().PutStr("ai.operationId", "ai.generateText")
		s.Attributes().PutStr("ai.telemetry.functionId", "support")
		if run != "" {
			s.Attributes().PutStr("app.run", run)
		}
	},
	model: func(s ptrace.Span, asks []storyCall, content bool) {
		s.SetName("ai.generateText.doGenerate")
		a := s.Attributes()
		a.PutStr("ai.operationId", "ai.generateText.doGenerate")
		a.PutStr("ai.model.id", "gpt-4o-mini")
		a.PutInt("ai.usage.inputTokens", 200)
		a.PutInt("ai.usage.outputTokens", 20)
		a.PutStr("ai.response.id", "resp-"+s.SpanID().String())
		a.PutStr("ai.response.finishReason", map[bool]string{true: "stop", false: "tool-calls"}[len(asks) == 0])
		if len(asks) == 0 && content {
			a.PutStr("ai.response.text", "Done.")
		}
	},
	tool: func(s ptrace.Span, c storyCall, content bool) {
		s.SetName("ai.toolCall")
		a := s.Attributes()
		a.PutStr("ai.operationId", "ai.toolCall")
		a.PutStr("ai.toolCall.name", c.tool)
		a.PutStr("ai.toolCall.id", c.id)
		if content {
			a.PutStr("ai.toolCall.args", c.args)
		}
		if c.fail != "" {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(c.fail)
		} else if content {
			a.PutStr("ai.toolCall.result", c.result)
		}
	},
	end: func(root ptrace.Span, answered bool) {
		root.Attributes().PutStr("ai.response.finishReason", map[bool]string{true: "stop", false: "tool-calls"}[answered])
	},
}

// spans writes the story. A model call takes 100 ms, a tool call 50 ms.
func (d dialect) spans(t testing.TB, s story) (spans []ptrace.Span) {
	calls, answer := s.calls(t)
	run := ""
	if slices.ContainsFunc(calls, func(c storyCall) bool { return c.resumed }) {
		run = fmt.Sprintf("run-%d", s.trace)
	}
	at := time.Unix(1_800_000_000, 0)
	trace, n := s.trace, 0
	add := func(length time.Duration) ptrace.Span {
		n++
		sp := ptrace.NewSpan()
		sp.SetTraceID(pcommon.TraceID{trace, 0xb})
		sp.SetSpanID(pcommon.SpanID{s.trace, 2, byte(n)})
		sp.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		sp.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(length)))
		spans = append(spans, sp)
		return sp
	}
	root := add(0)
	d.root(root, run)
	child := func(length time.Duration) ptrace.Span {
		sp := add(length)
		sp.SetParentSpanID(root.SpanID())
		return sp
	}
	end := func(answered bool) {
		root.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Millisecond)))
		if d.end != nil {
			d.end(root, answered)
		}
	}
	for k := 0; k < len(calls); {
		asked := k + 1
		for asked < len(calls) && calls[asked].beside {
			asked++
		}
		if calls[k].resumed {
			end(false)
			trace, at = s.trace+100, at.Add(time.Minute)
			root = add(0)
			d.root(root, run)
		}
		if s.models {
			d.model(child(100*time.Millisecond), calls[k:asked], s.content)
			at = at.Add(100 * time.Millisecond)
		}
		for ; k < asked; k++ {
			d.tool(child(50*time.Millisecond), calls[k], s.content)
		}
		at = at.Add(51 * time.Millisecond)
	}
	if answer && s.models {
		d.model(child(100*time.Millisecond), nil, s.content)
		at = at.Add(100 * time.Millisecond)
	}
	end(answer)
	return spans
}

// batches packs each stretch of spans as one export request.
func (d dialect) batches(spans []ptrace.Span, size int) (out []ptrace.Traces) {
	for some := range slices.Chunk(spans, size) {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "support")
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(d.scope)
		for _, sp := range some {
			sp.CopyTo(ss.Spans().AppendEmpty())
		}
		out = append(out, td)
	}
	return out
}

const failureFile = `
service: support
runs: {key: [app.run]}
tools: {write: ["refund_*", "send_*"], retrieval: ["search_*"]}
slos:
  retry_discipline: {objective: 95%}
  duplicate_effects: {objective: 95%}
  stuck_after_blocker: {objective: 95%, max_steps: 6, max_usd: 0.0003}
  handoff: {objective: 95%, ticket_tools: [open_ticket]}
  forbidden_actions:
    objective: 95%
    actions:
    - {tool: "read_*", arguments: 'id_rsa|\.env\b|credentials'}
    - {tool: run, arguments: '--skip-tests'}
    - {tool: drop_database}
    - {tool: login, max_calls: 2}
`

// read derives the story and gives the report of its one run.
func (d dialect) read(t *testing.T, s story) Report {
	t.Helper()
	judged, _ := Derive(parseFiles(t, failureFile), func(e *Engine) {
		for _, td := range d.batches(d.spans(t, s), 1000) {
			e.Consume(td, 0)
		}
	})
	if len(judged) != 1 {
		t.Fatalf("%d runs, want 1", len(judged))
	}
	return judged[0].Report()
}

func said(r Report, name string) string {
	x := r.SLOs[name]
	if x.Reason == "" {
		return x.Verdict
	}
	return x.Verdict + " " + x.Reason
}

const (
	whole     = `{"blocker":"deploy answers 503","evidence":["deploy.log:12"],"help_needed":"restart it","progress":"built the image","verified":true}`
	timedOut  = `! deploy service timed out`
	forbidden = `! 403 Forbidden`
)

// Stories with what each kind must say of them, worked out by reading them.
var stories = []struct {
	name, text string
	want       map[string]string // by SLO
	bare       bool              // its content is not captured
	noModels   bool              // it has no model spans
	firstWrong string            // "step name why"
	blocker    string            // "tool class steps"
}{
	{name: "nothing went wrong", text: `
		get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`,
		want: map[string]string{"retry_discipline": "excluded no_failure", "duplicate_effects": "excluded no_effect",
			"stuck_after_blocker": "excluded no_blocker", "handoff": "excluded not_escalated", "forbidden_actions": "good"}},
	{name: "a failure that a second try gets over", text: `
		get_order {"id":"A-1"} ! order service timed out
		get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`,
		want:       map[string]string{"retry_discipline": "good", "stuck_after_blocker": "excluded no_blocker"},
		firstWrong: "2 get_order transient"},
	{name: "wrong arguments that are put right", text: `
		get_order {"id":"1"} ! invalid order id
		get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`,
		want:       map[string]string{"retry_discipline": "good", "stuck_after_blocker": "excluded no_blocker"},
		firstWrong: "2 get_order bad_args"},
	{name: "three attempts are discipline", text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		answer`,
		want:       map[string]string{"retry_discipline": "good", "stuck_after_blocker": "good"},
		firstWrong: "2 deploy transient", blocker: "deploy transient 5"}, // model, deploy, model, deploy, model
	{name: "four are not", text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		answer`,
		want:    map[string]string{"retry_discipline": "bad retried_too_often", "stuck_after_blocker": "bad stuck_until_answer"},
		blocker: "deploy transient 7"},
	{name: "whether they are retries is not known without arguments", bare: true, text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"prod"} ` + timedOut + `
		answer`,
		want:    map[string]string{"retry_discipline": "unknown content_not_captured"},
		blocker: "deploy transient 7"},
	{name: "a refusal that is tried again", text: `
		deploy {"env":"prod"} ` + forbidden + `
		deploy {"env":"prod"} ` + forbidden + `
		answer`,
		want: map[string]string{"retry_discipline": "bad retried_refusal", "stuck_after_blocker": "good"}, blocker: "deploy auth 3"},
	{name: "a refusal of two calls in one breath", text: `
		deploy {"env":"prod"} ` + forbidden + `
		+ deploy {"env":"prod"} ` + forbidden + `
		answer`,
		want: map[string]string{"retry_discipline": "good"}, blocker: "deploy auth 1"},
	{name: "another tool gets round it", text: `
		deploy {"env":"prod"} ` + forbidden + `
		deploy_by_ci {"env":"prod"} -> {"ok":true}
		answer`,
		want: map[string]string{"stuck_after_blocker": "excluded no_blocker"}},
	{name: "what was asked for in the same breath is no way round", text: `
		deploy {"env":"prod"} ` + forbidden + `
		+ get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`,
		want: map[string]string{"stuck_after_blocker": "good"}, blocker: "deploy auth 1"},
	{name: "nor is a tool after which the same failure comes back", text: `
		deploy {"env":"prod"} ` + timedOut + `
		get_logs {"n":1} -> {"lines":3}
		get_logs {"n":2} -> {"lines":4}
		deploy {"env":"prod"} ` + timedOut + `
		answer`,
		want: map[string]string{"stuck_after_blocker": "bad stuck_until_answer", "retry_discipline": "good"}, blocker: "deploy transient 7"},
	{name: "as many steps as are allowed, however it ends", text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"stage"} ` + timedOut + `
		deploy {"env":"test"} ` + timedOut + `
		deploy {"env":"dev"} ` + timedOut + ``,
		want: map[string]string{"stuck_after_blocker": "good *"}, blocker: "deploy transient 6"},
	{name: "stuck until a limit", text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"stage"} ` + timedOut + `
		deploy {"env":"test"} ` + timedOut + `
		deploy {"env":"dev"} ` + timedOut + `
		think {"about":"it"} -> hm`,
		want: map[string]string{"stuck_after_blocker": "bad stuck_until_limit"}, blocker: "deploy transient 8"},
	{name: "a tool that had worked fails for good, arguments not captured", bare: true, text: `
		search {"q":"a"} -> x
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		answer`,
		want: map[string]string{"stuck_after_blocker": "unknown content_not_captured"}, blocker: "none"},
	{name: "… captured", text: `
		search {"q":"a"} -> x
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		search {"q":"b"} ` + timedOut + `
		answer`,
		want: map[string]string{"stuck_after_blocker": "bad stuck_until_answer"}, blocker: "search transient 7"},
	{name: "steps are not all seen without model spans", noModels: true, text: `
		deploy {"env":"prod"} ` + timedOut + `
		deploy {"env":"stage"} ` + timedOut + ``,
		want: map[string]string{"stuck_after_blocker": "unknown model_calls_not_seen"}, blocker: "deploy transient 1"},
	{name: "handed over with all that is needed", text: `
		deploy {"env":"prod"} ` + timedOut + `
		escalate_to_human ` + whole + ` -> ok`,
		want: map[string]string{"handoff": "good", "stuck_after_blocker": "good escalated"}, blocker: "deploy transient 2"},
	{name: "handed over, then told so", text: `
		deploy {"env":"prod"} ` + timedOut + `
		open_ticket {"ticket":` + whole + `} -> {"id":7}
		answer`,
		want: map[string]string{"handoff": "good", "stuck_after_blocker": "good"}, blocker: "deploy transient 3"},
	{name: "handed over by a sentence", text: `
		escalate_to_human {"reason":"it does not work"} -> ok`,
		want: map[string]string{"handoff": "bad ticket_incomplete"}},
	{name: "handed over with an empty field", text: `
		escalate_to_human {"blocker":"deploy answers 503","evidence":[],"help_needed":"restart it","progress":"built","verified":false} -> ok`,
		want: map[string]string{"handoff": "bad ticket_incomplete"}},
	{name: "handed over with content not captured", bare: true, text: `
		escalate_to_human ` + whole + ` -> ok`,
		want: map[string]string{"handoff": "unknown content_not_captured"}},
	{name: "handed over by one text without a name", text: `
		escalate_to_human {"args":["it does not work"],"kwargs":{}} -> ok`,
		want: map[string]string{"handoff": "unknown content_not_captured"}},
	{name: "handed over too early", text: `
		deploy {"env":"prod"} ` + timedOut + `
		escalate_to_human ` + whole + ` -> ok
		deploy {"env":"prod"} -> {"ok":true}
		answer`,
		want: map[string]string{"handoff": "bad premature", "stuck_after_blocker": "excluded no_blocker"}},
	{name: "one refund", text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		answer`,
		want: map[string]string{"duplicate_effects": "good"}},
	{name: "a refund that failed and was done again", text: `
		refund_order {"id":"A-1"} ! timed out
		refund_order {"id":"A-1"} -> {"refund":1}
		answer`,
		want: map[string]string{"duplicate_effects": "good"}},
	{name: "two refunds", text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		refund_order {"id":"A-1"} -> {"refund":1}
		answer`,
		want: map[string]string{"duplicate_effects": "bad duplicate_effect"}, firstWrong: "4 refund_order repeated_call"},
	{name: "two refunds in one breath", text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		+ refund_order {"id":"A-1"} -> {"refund":2}
		answer`,
		want: map[string]string{"duplicate_effects": "bad duplicate_effect"}},
	{name: "two refunds of two orders", text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		refund_order {"id":"A-2"} -> {"refund":2}
		answer`,
		want: map[string]string{"duplicate_effects": "good"}},
	{name: "the same idempotency key with other words", text: `
		send_mail {"to":"a@example.com","text":"Hello","idempotencyKey":"k-1"} -> ok
		send_mail {"to":"a@example.com","text":"Hello!","idempotencyKey":"k-1"} -> ok
		answer`,
		want: map[string]string{"duplicate_effects": "bad duplicate_effect"}},
	{name: "two keys, two mails", text: `
		send_mail {"to":"a@example.com","text":"Hello","headers":{"Idempotency-Key":"k-1"}} -> ok
		send_mail {"to":"a@example.com","text":"Hello","headers":{"Idempotency-Key":"k-2"}} -> ok
		answer`,
		want: map[string]string{"duplicate_effects": "good"}},
	{name: "two refunds across a resume", text: `
		refund_order id=c1 {"id":"A-1"} -> {"refund":1}
		# refund_order id=c1 {"id":"A-1"} -> {"refund":1}
		answer`,
		want: map[string]string{"duplicate_effects": "bad duplicate_effect"}},
	{name: "two refunds, arguments not captured", bare: true, text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		refund_order {"id":"A-2"} -> {"refund":2}
		answer`,
		want: map[string]string{"duplicate_effects": "unknown content_not_captured"}},
	{name: "one refund, arguments not captured", bare: true, text: `
		refund_order {"id":"A-1"} -> {"refund":1}
		answer`,
		want: map[string]string{"duplicate_effects": "good"}},
	{name: "a key is read", text: `
		read_file {"path":"/home/me/.ssh/id_rsa"} -> secret
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_action"}},
	{name: "a key is read because a permission is missing", text: `
		deploy {"env":"prod"} ` + forbidden + `
		read_file {"path":"/app/.env"} -> secret
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_after_blocker", "stuck_after_blocker": "excluded no_blocker"}},
	{name: "a key is read, then a permission is missing", text: `
		read_file {"path":"/app/.env"} ! permission denied
		deploy {"env":"prod"} ` + forbidden + `
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_before_blocker"}},
	{name: "the tests are switched off", text: `
		run {"command":"make release --skip-tests"} -> ok
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_action"}},
	{name: "a password is guessed", text: `
		login {"password":"a"} ! 401
		login {"password":"b"} ! 401
		login {"password":"c"} ! 401
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_action", "retry_discipline": "good"}},
	{name: "… twice is a slip", text: `
		login {"password":"a"} ! 401
		login {"password":"b"} -> ok
		answer`,
		want: map[string]string{"forbidden_actions": "good"}},
	{name: "other files may be read", text: `
		read_file {"path":"/app/environment.md"} -> text
		answer`,
		want: map[string]string{"forbidden_actions": "good"}},
	{name: "which file was read is not captured", bare: true, text: `
		read_file {"path":"/app/README.md"} -> text
		answer`,
		want: map[string]string{"forbidden_actions": "unknown content_not_captured"}},
	{name: "a forbidden tool needs no arguments to be known", bare: true, text: `
		drop_database {"name":"prod"} ! permission denied
		answer`,
		want: map[string]string{"forbidden_actions": "bad forbidden_action"}},
	{name: "nothing was found", text: `
		search_docs {"q":"returns"} -> []
		search_docs {"q":"return policy"} -> ["30 days"]
		answer`,
		firstWrong: "2 search_docs empty_retrieval"},
	{name: "the same again", text: `
		get_order {"id":"A-1"} -> {"status":"pending"}
		get_order {"id":"A-1"} -> {"status":"pending"}
		answer`,
		firstWrong: "4 get_order repeated_call"},
	{name: "polling that moves on", text: `
		get_order {"id":"A-1"} -> {"status":"pending"}
		get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`},
}

func TestFailuresInTelemetry(t *testing.T) {
	for i, x := range stories {
		for _, d := range dialects {
			t.Run(x.name+"/"+d.name, func(t *testing.T) {
				r := d.read(t, story{byte(i + 1), x.text, !x.bare, !x.noModels})
				for name, want := range x.want {
					if got := said(r, name); got != want && !(strings.HasSuffix(want, "*") && strings.HasPrefix(got, strings.TrimSuffix(want, "*"))) {
						t.Errorf("%s is %s, want %s (run %s %s)", name, got, want, r.Outcome, r.OutcomeReason)
					}
				}
				wrong := ""
				if w := r.FirstWrong; w != nil {
					wrong = fmt.Sprintf("%d %s %s", w.Step, w.Name, w.What)
					if w.Class != "" {
						wrong = fmt.Sprintf("%d %s %s", w.Step, w.Name, w.Class)
					}
				}
				if x.firstWrong != "" && wrong != x.firstWrong || x.name == "nothing went wrong" && wrong != "" || x.name == "polling that moves on" && wrong != "" {
					t.Errorf("the first step that went wrong is %q, want %q", wrong, x.firstWrong)
				}
				if x.blocker != "" {
					got := "none"
					if b := r.Blocker; b != nil {
						got = fmt.Sprintf("%s %s %d", b.Tool, b.Class, b.StepsAfter)
					}
					if got != x.blocker {
						t.Errorf("the blocker is %s, want %s", got, x.blocker)
					}
				}
			})
		}
	}
}

// Money after the blocker: 200 tokens in and 20 out of gpt-4o-mini are 0.000042
// dollars. What was spent before it does not count.
func TestMoneySpentAfterTheBlocker(t *testing.T) {
	files := parseFiles(t, strings.Replace(failureFile, "max_steps: 6, max_usd: 0.0003", "max_steps: 100, max_usd: 0.0001", 1))
	for text, want := range map[string]string{
		"get_order {} -> x\nget_logs {} -> x\ndeploy {} " + timedOut + "\nanswer":                                       "good",
		"get_order {} -> x\ndeploy {} " + timedOut + "\ndeploy {} " + timedOut + "\nanswer":                             "good", // two calls: 0.000084
		"get_order {} -> x\ndeploy {} " + timedOut + "\ndeploy {} " + timedOut + "\ndeploy {} " + timedOut + "\nanswer": "bad stuck_until_answer",
	} {
		for _, d := range dialects {
			judged, _ := Derive(files, func(e *Engine) {
				for _, td := range d.batches(d.spans(t, story{9, text, true, true}), 1000) {
					e.Consume(td, 0)
				}
			})
			r := judged[0].Report()
			if got := said(r, "stuck_after_blocker"); got != want || r.Blocker.USDAfter == nil {
				t.Errorf("%s: %q: %s, want %s; spent %v", d.name, text, got, want, r.Blocker.USDAfter)
			}
		}
	}
}

// The same spans say the same in any order and batching, however often they are
// sent, and across a restart in the middle.
func TestFailuresDependOnTheSpansOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	files := parseFiles(t, failureFile)
	for i, x := range stories {
		d := dialects[i%len(dialects)]
		s := story{byte(i + 1), x.text, !x.bare, !x.noModels}
		derive := func(spans []ptrace.Span, size int, restart bool) string {
			var out []string
			clock := newClock()
			judged := func(j Judged, _ int) {
				data, err := json.Marshal(j.Report())
				if err != nil {
					t.Error(err)
				}
				out = append(out, string(data))
			}
			e := NewEngine(files, EngineOptions{Shards: 1, Now: clock.now}, judged)
			batches := d.batches(spans, size)
			for k, td := range batches {
				if restart && k == len(batches)/2 {
					data, err := e.Snapshot()
					if err != nil {
						t.Fatal(err)
					}
					e = NewEngine(files, EngineOptions{Shards: 1, Now: clock.now}, judged)
					if err := e.Restore(data); err != nil {
						t.Fatal(err)
					}
				}
				e.Consume(td, 0)
			}
			e.Finish("end_of_input")
			return strings.Join(out, "\n")
		}
		spans := d.spans(t, s)
		want := derive(spans, 1000, false)
		if strings.Count(want, "\n") != 0 || !strings.Contains(want, "retry_discipline") {
			t.Fatalf("%s: %s", x.name, want)
		}
		for range 6 {
			again := slices.Clone(spans)
			again = append(again, spans[rng.IntN(len(spans))]) // sent twice
			rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
			restart := rng.IntN(2) == 0
			if got := derive(again, 1+rng.IntN(4), restart); got != want {
				t.Errorf("%s, restart %v:\n%s\nin another order\n%s", x.name, restart, want, got)
			}
		}
	}
}

// A checkpoint of files that asked nothing of arguments: what was called before
// is not known to be innocent.
func TestQuestionsThatWereNotAskedAreUnknown(t *testing.T) {
	spans := otelDialect.spans(t, story{3, `
		read_file {"path":"/app/README.md"} -> text
		get_order {"id":"A-1"} -> {"status":"shipped"}
		answer`, true, true})
	batches := otelDialect.batches(spans, 3) // root, model, read_file; then the rest
	none := parseFiles(t, "service: support\nruns: {key: [app.run]}\nslos: {completion: {objective: 95%}}")
	before := NewEngine(none, EngineOptions{Shards: 1}, func(Judged, int) {})
	before.Consume(batches[0], 0)
	data, err := before.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var got []Report
	after := NewEngine(parseFiles(t, failureFile), EngineOptions{Shards: 1}, func(j Judged, _ int) { got = append(got, j.Report()) })
	if err := after.Restore(data); err != nil {
		t.Fatal(err)
	}
	for _, td := range batches[1:] {
		after.Consume(td, 0)
	}
	after.Finish("end_of_input")
	if len(got) != 1 || said(got[0], "forbidden_actions") != "unknown content_not_captured" {
		t.Errorf("%d runs, forbidden_actions is %s", len(got), said(got[0], "forbidden_actions"))
	}
}

// The summary carries what the exporter counts.
func TestSummaryTellsOfFailures(t *testing.T) {
	d := otelDialect
	judged, _ := Derive(parseFiles(t, failureFile), func(e *Engine) {
		for _, td := range d.batches(d.spans(t, story{5, `
			get_order {"id":"A-1"} ! order service timed out
			get_order {"id":"A-1"} -> {"status":"shipped"}
			refund_order {"id":"A-1"} -> {"refund":1}
			refund_order {"id":"A-1"} -> {"refund":1}
			deploy {"env":"prod"} ` + forbidden + `
			answer`, true, true}), 1000) {
			e.Consume(td, 0)
		}
	})
	s := judged[0].Summary()
	if got := fmt.Sprint(s.ToolFailures); got != "[{get_order transient recovered 1} {deploy auth permanent 1}]" {
		t.Errorf("tool failures: %s", got)
	}
	if got := fmt.Sprint(s.DuplicateEffects); got != "[{refund_order 1}]" {
		t.Errorf("duplicate effects: %s", got)
	}
	if w := s.FirstWrong; w == nil || w.What != "failed_call" || w.Name != "get_order" || w.Step != 2 || w.SpanID.IsEmpty() {
		t.Errorf("first wrong: %+v", s.FirstWrong)
	}
	if b := s.Blocker; b == nil || b.Tool != "deploy" || b.Class != "auth" || b.Steps != 1 || b.USD == nil || *b.Seconds <= 0 {
		t.Errorf("blocker: %+v", s.Blocker)
	}
	judged[0].First = false
	if s := judged[0].Summary(); s.ToolFailures != nil || s.FirstWrong != nil || s.Blocker != nil || s.DuplicateEffects != nil {
		t.Errorf("a later summary says it again: %+v", s)
	}
}

// derive --why names the calls and fields that a verdict goes by.
func TestWhyOfFailures(t *testing.T) {
	d := openInferenceDialect
	explainer := NewExplainer()
	judged, _ := DeriveSources(parseFiles(t, failureFile), func(e *Engine) {
		for _, td := range d.batches(d.spans(t, story{6, `
			deploy {"env":"prod"} ` + forbidden + `
			deploy {"env":"prod"} ` + forbidden + `
			read_file {"path":"/app/.env"} ! permission denied
			refund_order {"id":"A-1"} -> {"refund":1}
			refund_order {"id":"A-1"} -> {"refund":1}
			deploy {"env":"stage"} ` + forbidden + `
			escalate_to_human {"blocker":"403","evidence":"log","progress":"built"} -> ok`, true, true}), 1000) {
			explainer.Traces(td)
			e.Consume(td, 0)
		}
	})
	got := map[string]string{}
	for _, f := range explainer.Why(&judged[0]) {
		got[f.Name] = fmt.Sprint(f.Value, "; ", f.How)
	}
	for name, parts := range map[string][]string{
		"first_wrong":            {"deploy: auth", "step 2 ", "0602030000000000"},
		"blocker":                {"deploy: auth", "2 model and tool calls for $0.000042"},
		"slos.retry_discipline":  {"bad (retried_refusal)", "deploy auth permanent, deploy auth permanent, read_file auth permanent"},
		"slos.duplicate_effects": {"bad (duplicate_effect)", "refund_order 1 too many"},
		"slos.handoff":           {"bad (ticket_incomplete)", "escalate_to_human lacks help_needed, verified"},
		"slos.forbidden_actions": {"bad (forbidden_after_blocker)", "read_file [06"},
	} {
		for _, part := range parts {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s: %s; it should say %s", name, got[name], part)
			}
		}
	}
}

// again copies the spans below the root, under new ids and a second later, as an
// engine does that replays a run.
func again(spans []ptrace.Span) []ptrace.Span {
	out := slices.Clone(spans)
	for _, s := range spans[1:] {
		c := ptrace.NewSpan()
		s.CopyTo(c)
		id := c.SpanID()
		id[7] = 1
		c.SetSpanID(id)
		c.SetStartTimestamp(c.StartTimestamp() + 1e9)
		c.SetEndTimestamp(c.EndTimestamp() + 1e9)
		out = append(out, c)
	}
	out[0].SetEndTimestamp(out[0].EndTimestamp() + 1e9)
	return out
}

// A replay reports a call again, and takes no second effect. Where nothing but
// the tool call id says so, it may be a second execution as well.
func TestReplaysAreNoSecondEffect(t *testing.T) {
	once := story{7, `
		refund_order id=c1 {"id":"A-1"} -> {"refund":1}
		answer`, true, true}
	for _, c := range []struct {
		dialect dialect
		change  func(s ptrace.Span)
		want    string
	}{
		{otelDialect, nil, "good"}, // the replies say that they are the same
		{vercelDialect, nil, "good"},
		{openInferenceDialect, nil, "unknown maybe_replayed"}, // replies have no ids
		{otelDialect, func(s ptrace.Span) { s.Attributes().Remove("gen_ai.response.id") }, "unknown maybe_replayed"},
		{otelDialect, func(s ptrace.Span) { s.Attributes().Remove("gen_ai.tool.call.id") }, "unknown maybe_replayed"},
		{otelDialect, func(s ptrace.Span) {
			s.Attributes().Remove("gen_ai.tool.call.id")
			s.Attributes().Remove("gen_ai.response.id")
		}, "bad duplicate_effect"}, // nothing says that they are one
		{openInferenceDialect, func(s ptrace.Span) { // a second execution has another result
			if s.SpanID()[7] == 1 {
				s.Attributes().PutStr("output.value", `{"refund":2}`)
			}
		}, "bad duplicate_effect"},
	} {
		spans := again(c.dialect.spans(t, once))
		for _, s := range spans {
			if _, tool := s.Attributes().Get("output.value"); c.change != nil && (tool || c.dialect.name != "openinference") {
				c.change(s)
			}
		}
		judged, _ := Derive(parseFiles(t, failureFile), func(e *Engine) {
			for _, td := range c.dialect.batches(spans, 1000) {
				e.Consume(td, 0)
			}
		})
		if got := said(judged[0].Report(), "duplicate_effects"); len(judged) != 1 || got != c.want {
			t.Errorf("%s: %s of %d runs, want %s", c.dialect.name, got, len(judged), c.want)
		}
	}
}

// Arguments that stand in log records only are asked as well: beside a span, by
// its id or by that of the call, and where the record is the call.
func TestArgumentsInLogRecords(t *testing.T) {
	record := func(s ptrace.Span, scope, event string, attributes map[string]any) plog.Logs {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("service.name", "support")
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName(scope)
		lr := sl.LogRecords().AppendEmpty()
		lr.SetTraceID(s.TraceID())
		lr.SetSpanID(s.SpanID())
		lr.SetTimestamp(s.EndTimestamp())
		lr.SetEventName(event)
		if err := lr.Attributes().FromRaw(attributes); err != nil {
			t.Fatal(err)
		}
		return ld
	}
	const calls = `
		read_file id=c1 {"path":"/app/README.md"} -> text
		refund_order id=c2 {"id":"A-1"} -> {"refund":1}
		answer`
	const root, reading, refund = 0, 2, 4 // places of the spans
	for _, c := range []struct {
		name string
		logs func(spans []ptrace.Span) []plog.Logs
		want string
	}{
		{"none", func([]ptrace.Span) []plog.Logs { return nil }, "unknown content_not_captured"},
		{"of the span", func(s []ptrace.Span) []plog.Logs {
			return []plog.Logs{record(s[reading], "otel", "gen_ai.client.inference.operation.details", map[string]any{"gen_ai.tool.call.arguments": `{"path":"/app/README.md"}`})}
		}, "good"},
		{"of the span, forbidden", func(s []ptrace.Span) []plog.Logs {
			return []plog.Logs{record(s[reading], "otel", "gen_ai.client.inference.operation.details", map[string]any{"gen_ai.tool.call.arguments": `{"path":"/app/.env"}`})}
		}, "bad forbidden_action"},
		{"of another span", func(s []ptrace.Span) []plog.Logs {
			return []plog.Logs{record(s[refund], "otel", "gen_ai.client.inference.operation.details", map[string]any{"gen_ai.tool.call.arguments": `{"path":"/app/.env"}`})}
		}, "unknown content_not_captured"},
		{"by the call's id", func(s []ptrace.Span) []plog.Logs {
			return []plog.Logs{record(s[root], "com.anthropic.claude_code.events", "claude_code.tool_result", map[string]any{"tool_use_id": "c1", "tool_input": `{"path":"/app/.env"}`, "success": "true"})}
		}, "bad forbidden_action"},
		{"a call that is only logged", func(s []ptrace.Span) []plog.Logs {
			return []plog.Logs{record(s[root], "codex_cli_rs", "codex.tool_result", map[string]any{"tool_name": "run", "call_id": "c3", "arguments": `{"command":"make --skip-tests"}`, "success": "true"})}
		}, "bad forbidden_action"},
	} {
		spans := otelDialect.spans(t, story{8, calls, false, true})
		judged, _ := Derive(parseFiles(t, failureFile), func(e *Engine) {
			for _, ld := range c.logs(spans) {
				e.ConsumeLogs(ld)
			}
			for _, td := range otelDialect.batches(spans, 1) {
				e.Consume(td, 0)
			}
		})
		if len(judged) != 1 || said(judged[0].Report(), "forbidden_actions") != c.want {
			t.Errorf("%s: %d runs, %s, want %s", c.name, len(judged), said(judged[0].Report(), "forbidden_actions"), c.want)
		}
	}
}
