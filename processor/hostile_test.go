package processor

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Telemetry that means harm: each case in testdata/hostile*.txt is a few spans
// of real conventions in the shapes that went wrong somewhere, and what a
// careful reader finds in them.
//
//	== name of the case
//	# why
//	| a line of the SLO file; without any the file above the first case holds
//	1 - 0 10 ia:helper key=value …      span id, parent, start and end in seconds, what it is, attributes
//	log 11 1 ev:correctness score=0.9   log record at a time, on a span; event=NAME, scope=NAME, body=JSON
//	=> agent=helper outcome=answered …  one line a run, in order of start; paths into the report
//	=> none
//
// "b/2" is span 2 of trace b; a bare id is of trace a. What a span is: ia, wf,
// chat, tool, retrieval of OpenTelemetry; oi.KIND of OpenInference; tl.kind of
// Traceloop; ai.operation of Vercel's SDK; raw, a name and nothing else.
// Words: !err or !err="text", !ok, exc="Type|message", flags=, kind=, scope=,
// res.KEY=, link=, event:NAME={attributes}. In keys ~ is gen_ai. and key:=value
// is text, whatever it looks like.

type hostileCase struct {
	name, file string
	td         ptrace.Traces
	ld         plog.Logs
	expect     []string
}

// tokens cuts at spaces outside of quotes and brackets.
func tokens(line string) (out []string) {
	depth, quoted, start := 0, false, -1
	for i := 0; i < len(line); i++ {
		c := line[i]
		if start < 0 && c != ' ' {
			start = i
		}
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ' ' && depth == 0 && start >= 0:
			out = append(out, line[start:i])
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, line[start:])
	}
	return out
}

// jsonValue reads v as JSON where it is, else as text.
func jsonValue(v string, to pcommon.Value) {
	d := json.NewDecoder(strings.NewReader(v))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil || d.More() {
		to.SetStr(v)
		return
	}
	goValue(x, to)
}

func goValue(x any, to pcommon.Value) {
	switch x := x.(type) {
	case string:
		to.SetStr(strings.NewReplacer("\\xff", "\xff").Replace(x))
	case bool:
		to.SetBool(x)
	case json.Number:
		if n, err := x.Int64(); err == nil {
			to.SetInt(n)
		} else {
			f, _ := x.Float64()
			to.SetDouble(f)
		}
	case []any:
		s := to.SetEmptySlice()
		for _, e := range x {
			goValue(e, s.AppendEmpty())
		}
	case map[string]any:
		m := to.SetEmptyMap()
		for k, e := range x {
			goValue(e, m.PutEmpty(k))
		}
	}
}

func hostileIDs(s string) (t pcommon.TraceID, id pcommon.SpanID) {
	trace, n, ok := strings.Cut(s, "/")
	if !ok {
		trace, n = "a", s
	}
	copy(t[:], trace)
	t[15] = 1
	if n != "-" && n != "" {
		k, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			panic("span id " + s)
		}
		binary.BigEndian.PutUint64(id[:], k)
	}
	return t, id
}

func fullKey(k string) string { return strings.Replace(k, "~", "gen_ai.", 1) }

const hostileEpoch = 1_800_000_000

func hostileTime(s string) pcommon.Timestamp {
	if raw, ok := strings.CutPrefix(s, "@"); ok {
		n, _ := strconv.ParseUint(raw, 10, 64)
		return pcommon.Timestamp(n)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("time " + s)
	}
	return pcommon.Timestamp(hostileEpoch*1e9 + int64(f*1e9))
}

func parseHostile(text string) (cases []hostileCase) {
	preamble, body := "", ""
	var c *hostileCase
	scopes := map[string]ptrace.ScopeSpans{}
	for n, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "== "):
			cases = append(cases, hostileCase{name: line[3:], td: ptrace.NewTraces(), ld: plog.NewLogs()})
			c = &cases[len(cases)-1]
			scopes, body = map[string]ptrace.ScopeSpans{}, ""
			c.file = preamble
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "| "):
			if c == nil {
				preamble += line[2:] + "\n"
			} else {
				body += line[2:] + "\n"
				c.file = body
			}
		case strings.HasPrefix(line, "=> "):
			c.expect = append(c.expect, line[3:])
		case strings.HasPrefix(line, "log "):
			hostileLog(c.ld, tokens(line)[1:])
		default:
			f := tokens(line)
			if len(f) < 5 {
				panic(fmt.Sprintf("line %d: %s", n+1, line))
			}
			hostileSpan(c.td, scopes, f)
		}
	}
	return cases
}

func hostileLog(ld plog.Logs, f []string) {
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	r := sl.LogRecords().AppendEmpty()
	r.SetTimestamp(hostileTime(f[0]))
	if f[1] != "-" {
		t, id := hostileIDs(f[1])
		r.SetTraceID(t)
		r.SetSpanID(id)
	}
	for _, w := range f[2:] {
		if name, ok := strings.CutPrefix(w, "ev:"); ok {
			r.SetEventName("gen_ai.evaluation.result")
			r.Attributes().PutStr("gen_ai.evaluation.name", name)
			continue
		}
		k, v, _ := strings.Cut(w, "=")
		if k, ok := strings.CutSuffix(k, ":"); ok {
			r.Attributes().PutStr(fullKey(k), v)
			continue
		}
		k = fullKey(k)
		switch k {
		case "event":
			r.SetEventName(v)
			continue
		case "scope":
			sl.Scope().SetName(v)
			continue
		case "body":
			jsonValue(v, r.Body())
			continue
		case "score", "score.label":
			k = map[string]string{"score": "gen_ai.evaluation.score.value", "score.label": "gen_ai.evaluation.score.label"}[k]
		}
		jsonValue(v, r.Attributes().PutEmpty(k))
	}
}

func hostileSpan(td ptrace.Traces, scopes map[string]ptrace.ScopeSpans, f []string) {
	scope, res := "", ""
	var attributes [][2]string
	sp := ptrace.NewSpan()
	trace, id := hostileIDs(f[0])
	_, parent := hostileIDs(f[1])
	sp.SetTraceID(trace)
	sp.SetSpanID(id)
	sp.SetParentSpanID(parent)
	sp.SetStartTimestamp(hostileTime(f[2]))
	sp.SetEndTimestamp(hostileTime(f[3]))
	put := func(k, v string) {
		if k, ok := strings.CutSuffix(k, ":"); ok {
			sp.Attributes().PutStr(fullKey(k), v)
			return
		}
		jsonValue(v, sp.Attributes().PutEmpty(fullKey(k)))
	}
	what, name, _ := strings.Cut(f[4], ":")
	name = strings.Trim(name, `"`)
	switch vocabulary, kind, _ := strings.Cut(what, "."); vocabulary {
	case "ia", "wf", "chat", "tool", "retrieval":
		op := map[string]string{"ia": "invoke_agent", "wf": "invoke_workflow", "chat": "chat", "tool": "execute_tool", "retrieval": "retrieval"}[what]
		key := map[string]string{"ia": "~agent.name", "wf": "~workflow.name", "chat": "~request.model", "tool": "~tool.name", "retrieval": "~data_source.id"}[what]
		sp.SetName(strings.TrimSpace(op + " " + name))
		sp.Attributes().PutStr("gen_ai.operation.name", op)
		if name != "" {
			sp.Attributes().PutStr(strings.Replace(key, "~", "gen_ai.", 1), name)
		}
	case "oi":
		sp.SetName(name)
		sp.Attributes().PutStr("openinference.span.kind", kind)
		if kind == "TOOL" {
			sp.Attributes().PutStr("tool.name", name)
		}
		scope = "openinference.instrumentation.x"
	case "tl":
		sp.SetName(name + "." + kind)
		sp.Attributes().PutStr("traceloop.span.kind", kind)
		sp.Attributes().PutStr("traceloop.entity.name", name)
	case "ai":
		sp.SetName(what)
		sp.Attributes().PutStr("ai.operationId", what)
		if name != "" {
			sp.Attributes().PutStr("ai.telemetry.functionId", name)
		}
		scope = "ai"
	case "raw":
		sp.SetName(name)
	default:
		panic("what is " + f[4])
	}
	for _, w := range f[5:] {
		k, v, _ := strings.Cut(w, "=")
		text := strings.Trim(v, `"`)
		switch {
		case k == "!err":
			sp.Status().SetCode(ptrace.StatusCodeError)
			sp.Status().SetMessage(text)
		case k == "!ok":
			sp.Status().SetCode(ptrace.StatusCodeOk)
		case k == "exc":
			e := sp.Events().AppendEmpty()
			e.SetName("exception")
			typ, message, _ := strings.Cut(text, "|")
			e.Attributes().PutStr("exception.type", typ)
			e.Attributes().PutStr("exception.message", message)
		case k == "flags":
			n, _ := strconv.ParseUint(v, 0, 32)
			sp.SetFlags(uint32(n))
		case k == "kind":
			sp.SetKind(map[string]ptrace.SpanKind{"SERVER": ptrace.SpanKindServer, "CLIENT": ptrace.SpanKindClient}[v])
		case k == "scope":
			scope = text
		case k == "link":
			t, id := hostileIDs(v)
			l := sp.Links().AppendEmpty()
			l.SetTraceID(t)
			l.SetSpanID(id)
		case k == "state":
			sp.TraceState().FromRaw(text)
		case strings.HasPrefix(k, "res."):
			res += k[4:] + "\x00" + v + "\x01"
		case strings.HasPrefix(k, "event:"):
			e := sp.Events().AppendEmpty()
			e.SetName(strings.TrimPrefix(k, "event:"))
			e.SetTimestamp(sp.EndTimestamp())
			var m map[string]any
			d := json.NewDecoder(strings.NewReader(v))
			d.UseNumber()
			if d.Decode(&m) != nil {
				panic(v)
			}
			for k, x := range m {
				goValue(x, e.Attributes().PutEmpty(fullKey(k)))
			}
		default:
			attributes = append(attributes, [2]string{k, v})
		}
	}
	for _, a := range attributes {
		put(a[0], a[1])
	}
	key := scope + "\x00" + res
	ss, ok := scopes[key]
	if !ok {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "support")
		for _, pair := range strings.Split(res, "\x01") {
			if k, v, ok := strings.Cut(pair, "\x00"); ok {
				jsonValue(v, rs.Resource().Attributes().PutEmpty(k))
			}
		}
		ss = rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		scopes[key] = ss
	}
	sp.CopyTo(ss.Spans().AppendEmpty())
}

// at follows a path such as slos.latency.verdict through decoded JSON.
func at(x any, path string) any {
	for path != "" {
		m, ok := x.(map[string]any)
		if !ok {
			return nil
		}
		if v, ok := m[path]; ok {
			return v
		}
		head, rest, _ := strings.Cut(path, ".")
		x, path = m[head], rest
	}
	return x
}

func holds(report map[string]any, want string) string {
	k, v, _ := strings.Cut(want, "=")
	v = strings.Trim(v, `"`)
	path := k
	switch {
	case at(report["slos"], k) != nil: // completion=good or completion=bad/error
		m := at(report["slos"], k)
		got := fmt.Sprint(at(m, "verdict"))
		if reason := at(m, "reason"); strings.Contains(v, "/") {
			got += "/" + fmt.Sprint(reason)
		}
		if got != v {
			return fmt.Sprintf("%s is %s/%s, not %s", k, got, at(m, "reason"), v)
		}
		return ""
	case k == "ok":
		path = "tool_calls.ok"
	case k == "failed":
		path = "tool_calls.failed"
	case k == "in" || k == "out":
		path = "tokens." + k + "put"
	}
	x := at(report, path)
	got := ""
	switch x := x.(type) {
	case nil:
		got = "null"
	case float64:
		got = strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		got = x
	default:
		b, _ := json.Marshal(x)
		got = strings.ReplaceAll(string(b), `"`, "")
	}
	if got != v {
		return fmt.Sprintf("%s is %s, not %s", k, got, v)
	}
	return ""
}

func TestHostileTelemetry(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join("testdata", "hostile*.txt"))
	if len(names) == 0 {
		t.Fatal("no cases")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range parseHostile(string(text)) {
			t.Run(c.name, c.testAll)
		}
	}
}

// compare holds what was read against what the case expects.
func (c *hostileCase) compare(t *testing.T, judged []Judged, stats *run.Stats) {
	want := c.expect
	if len(want) == 1 && want[0] == "none" {
		want = nil
	}
	var all []string
	for i := range judged {
		r := judged[i].Report()
		b, _ := json.Marshal(r)
		all = append(all, string(b))
	}
	if len(judged) != len(want) {
		t.Fatalf("%d runs, not %d (unattached %d, late %d, duplicates %d)\n%s", len(judged), len(want),
			stats.Unattached.Load(), stats.Late.Load(), stats.Duplicates.Load(), strings.Join(all, "\n"))
	}
	for i, line := range want {
		var report map[string]any
		if err := json.Unmarshal([]byte(all[i]), &report); err != nil {
			t.Fatal(err)
		}
		for _, w := range tokens(line) {
			if wrong := holds(report, w); wrong != "" {
				t.Errorf("run %d: %s\n%s", i, wrong, all[i])
			}
		}
	}
}

// stream is an engine under a clock that the test moves, with what it handed
// out since the test last looked.
type stream struct {
	t     *testing.T
	clock *clock
	files *slo.Set
	e     *Engine
	got   []string
}

func newStream(t *testing.T, file string) *stream {
	s := &stream{t: t, clock: newClock(), files: parseFiles(t, file)}
	s.e = NewEngine(s.files, EngineOptions{Now: s.clock.now}, s.take)
	return s
}

const twoKinds = `
service: support
runs: {quiet_period: 5s, idle_timeout: 60s, max_age: 10m}
slos:
  completion: {objective: 99%}
  correctness: {objective: 95%, evaluations: [{name: correctness, min_score: 0.7}], wait: 30s}
`

func (s *stream) take(j Judged, _ int) {
	if j.First {
		s.got = append(s.got, fmt.Sprintf("%s %s %s", j.Run.Agent, j.Run.Outcome, j.Run.Completion))
	}
	for _, r := range j.Results {
		if r.SLO != "completion" {
			s.got = append(s.got, fmt.Sprintf("%s %s", r.SLO, r.Verdict))
		}
	}
}

func (s *stream) spans(lines ...string) {
	td, scopes := ptrace.NewTraces(), map[string]ptrace.ScopeSpans{}
	for _, line := range lines {
		hostileSpan(td, scopes, tokens(line))
	}
	s.e.Consume(td, 0)
}

func (s *stream) log(line string) {
	ld := plog.NewLogs()
	hostileLog(ld, tokens(line))
	s.e.ConsumeLogs(ld)
}

func (s *stream) pass(seconds int) {
	for range seconds {
		s.clock.pass(time.Second)
		s.e.Tick()
	}
}

func (s *stream) restart() {
	s.t.Helper()
	data, err := s.e.Snapshot()
	if err != nil {
		s.t.Fatal(err)
	}
	s.e = NewEngine(s.files, EngineOptions{Now: s.clock.now, Shards: 2}, s.take)
	if err := s.e.Restore(data); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stream) want(step string, want ...string) {
	s.t.Helper()
	if !slices.Equal(s.got, want) {
		s.t.Errorf("%s: got %q, not %q", step, s.got, want)
	}
	s.got = nil
}

const answers = ` ~usage.input_tokens=5 ~usage.output_tokens=5 ~response.finish_reasons=["stop"]`

func TestHostileTiming(t *testing.T) {
	t.Run("quiet period, late and resent spans", func(t *testing.T) {
		s := newStream(t, twoKinds)
		chat, root := `2 1 1 9 chat:gpt-5`+answers, `1 - 0 10 ia:bot`
		s.spans(chat)
		s.pass(20)
		s.want("no root yet")
		s.spans(root)
		s.pass(4)
		s.spans(`3 1 2 3 tool:s`) // the quiet period begins anew
		s.pass(4)
		s.want("not quiet for long enough")
		s.pass(1)
		s.want("quiet", "bot answered root_ended")
		s.pass(30)
		s.want("the wait is over", "correctness unknown")
		s.log(`60 2 ev:correctness score=0.1`)
		s.spans(chat, root, `9 1 2 3 tool:s`)
		s.pass(300)
		s.want("what comes late changes nothing")
		st := s.e.Stats()
		if late, dup, open, evals := st.Late.Load(), st.Duplicates.Load(), st.OpenRuns.Load(), st.EvaluationsLate.Load(); late != 1 || dup != 2 || open != 0 || evals != 1 {
			t.Errorf("late %d, duplicates %d, open %d, late evaluations %d", late, dup, open, evals)
		}
	})
	t.Run("evaluations before their run", func(t *testing.T) {
		s := newStream(t, twoKinds)
		s.log(`9 2 ev:correctness score=0.1`)
		s.log(`9 - ev:correctness score=0.1 ~response.id=r9`)
		s.log(`9 z/2 ev:correctness score=0.1`)
		s.pass(50)
		s.spans(`1 - 0 10 ia:bot`, `2 1 1 9 chat:gpt-5`+answers, `b/1 - 0 10 ia:bot`, `b/2 1 1 9 chat:gpt-5 ~response.id=r9`+answers)
		s.pass(6)
		slices.Sort(s.got)
		s.want("both", "bot answered root_ended", "bot answered root_ended", "correctness bad", "correctness bad")
		s.pass(60)
		if n := s.e.Stats().EvaluationsOrphaned.Load(); n != 1 {
			t.Errorf("%d orphaned evaluations, not that of trace z", n)
		}
	})
	t.Run("a sub-agent comes before its parent", func(t *testing.T) {
		s := newStream(t, twoKinds)
		s.spans(`3 2 1 9 ia:sub flags=0x100`, `4 3 2 8 chat:gpt-5 flags=0x100`+answers)
		s.pass(50)
		s.want("its parent is local")
		s.spans(`2 1 0.5 10 tool:ask flags=0x100`, `5 1 10 19 chat:gpt-5 flags=0x100`+answers, `1 - 0 20 ia:boss`)
		s.pass(6)
		s.want("the parent came", "boss answered root_ended")

		s.spans(`b/3 2 1 9 ia:sub flags=0x300`, `b/4 3 2 8 chat:gpt-5 flags=0x100`+answers)
		s.pass(6)
		s.want("a remote parent is not waited for", "sub answered root_ended")

		s.pass(40)
		s.got = nil
		s.spans(`c/3 2 1 9 ia:sub`, `c/4 3 2 8 chat:gpt-5`+answers, `c/6 1 0.1 0.9 chat:gpt-5`+answers)
		s.pass(50)
		s.want("no flags, and work beside it hangs")
		s.spans(`c/2 1 0.5 10 tool:ask`, `c/7 1 10 19 chat:gpt-5`+answers, `c/1 - 0 20 ia:boss`)
		s.pass(6)
		s.want("the parent came", "boss answered root_ended")

		s.pass(40)
		s.got = nil
		s.spans(`d/3 2 1 9 ia:sub flags=0x100`, `d/4 3 2 8 chat:gpt-5 flags=0x100`+answers)
		s.pass(59)
		s.want("waits for idle_timeout")
		s.pass(2)
		s.want("no longer", "sub answered root_ended")
	})
	t.Run("runs of one trace hours apart, each judged by its own span", func(t *testing.T) {
		s := newStream(t, twoKinds)
		for i := range 4 {
			s.spans(fmt.Sprintf(`%d 99 %d %d ia:bot flags=0x300`, 10*i+1, i*3600, i*3600+10),
				fmt.Sprintf(`%d %d %d %d chat:gpt-5%s`, 10*i+2, 10*i+1, i*3600+1, i*3600+9, answers))
			s.pass(6)
			s.want("completed", "bot answered root_ended")
			s.log(fmt.Sprintf(`%d %d ev:correctness score=0.%d`, i*3600+20, 10*i+2, 9-4*(i%2)))
			s.want("judged", []string{"correctness good", "correctness bad"}[i%2])
			s.clock.pass(time.Hour)
			s.e.Tick()
		}
	})
}

func TestHostileRestarts(t *testing.T) {
	s := newStream(t, twoKinds)
	s.log(`9 - ev:correctness score=0.1 ~response.id=r9`)
	s.restart()
	s.spans(`b/1 - 0 10 ia:bot`, `b/2 1 1 9 chat:gpt-5 ~response.id=r9`+answers)
	s.restart()
	s.pass(6)
	s.want("an evaluation that waits for its response", "bot answered root_ended", "correctness bad")

	s.spans(`c/1 - 0 10 ia:bot`, `c/2 1 1 9 chat:gpt-5 ~response.id=r10`+answers)
	s.pass(6)
	s.restart()
	s.log(`9 - ev:correctness score=0.9 ~response.id=r10`)
	s.want("a run that waits, named by its response", "bot answered root_ended", "correctness good")

	s.spans(`d/1 - 0 10 ia:bot`, `d/2 1 1 9 chat:gpt-5`+answers)
	s.pass(6)
	s.restart()
	s.log(`9 d/2 ev:correctness score=0.9`)
	s.want("named by its span", "bot answered root_ended", "correctness good")
	s.spans(`d/1 - 0 10 ia:bot`, `d/2 1 1 9 chat:gpt-5`+answers, `d/5 2 1 9 tool:s`)
	s.pass(100)
	s.want("resent and late spans")

	s.spans(`e/1 - 0 10 ia:bot ~agent.call.id=R`, `e/2 1 1 9 chat:gpt-5`+answers)
	s.pass(36)
	s.want("a run with an id", "bot answered root_ended", "correctness unknown")
	s.restart()
	s.spans(`f/1 - 0 10 ia:bot ~agent.call.id=R`, `f/2 1 1 9 chat:gpt-5`+answers)
	s.pass(100)
	s.want("more of that id in another trace")

	s.spans(`g/3 2 1 9 ia:sub flags=0x100`, `g/4 3 2 8 chat:gpt-5 flags=0x100`+answers)
	s.pass(10)
	s.restart()
	s.spans(`g/2 1 0.5 10 tool:ask flags=0x100`, `g/5 1 10 19 chat:gpt-5 flags=0x100`+answers, `g/1 - 0 20 ia:boss`)
	s.pass(6)
	s.restart()
	s.pass(23)
	s.want("a sub-agent that waits for its parent", "boss answered root_ended")
	s.restart()
	s.pass(7)
	s.want("the end of the wait", "correctness unknown")
	s.pass(100)
	if n := s.e.Stats().OpenRuns.Load(); n != 0 {
		t.Errorf("%d traces stay open", n)
	}
}

func TestHostileEvaluators(t *testing.T) {
	const file = `
service: s
runs: {quiet_period: 5s, idle_timeout: 60s, max_age: 10m}
slos:
  all: {sli: correctness, objective: 95%, evaluations: [{name: a, min_score: 0.7}, {name: b, min_score: 0.7}], combine: all, wait: 1m}
  any: {sli: correctness, objective: 95%, evaluations: [{name: a, min_score: 0.7}, {name: b, min_score: 0.7}], combine: any, wait: 2m}
  first: {sli: correctness, objective: 95%, evaluations: [{name: a, min_score: 0.7}, {name: b, min_score: 0.7}], combine: first, wait: 3m}
`
	for _, x := range []struct{ a, b, want string }{ // sorted
		{"score=0.9", "", "all good, any good, first good"},
		{"score=0.1", "", "all bad, any bad, first bad"},
		{"score=0.1", "score=0.9", "all bad, any good, first bad"},
		{"error.type=x", "score=0.9", "all good, any good, first good"},
		{"error.type=x", "", "all unknown, any unknown, first unknown"},
		{"", "", "all unknown, any unknown, first unknown"},
	} {
		t.Run("a "+x.a+" b "+x.b, func(t *testing.T) {
			s := newStream(t, file)
			s.spans(`1 - 0 10 ia:bot`, `2 1 1 9 chat:gpt-5`+answers)
			s.pass(10)
			s.want("completed", "bot answered root_ended")
			if x.a != "" {
				s.log(`20 2 ev:a ` + x.a)
			}
			s.pass(10)
			if x.b != "" {
				s.log(`30 2 ev:b ` + x.b)
			}
			s.pass(240)
			slices.Sort(s.got)
			s.want("judged once each", strings.Split(x.want, ", ")...)
		})
	}
}
