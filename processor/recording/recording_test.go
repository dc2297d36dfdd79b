package recording

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func request(t testing.TB, spans int) ptrace.Traces {
	t.Helper()
	td := ptrace.NewTraces()
	for i := range spans {
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetName("s")
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
	}
	return td
}

func asJSON(t testing.TB, td ptrace.Traces) string {
	t.Helper()
	b, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func asProto(t testing.TB, td ptrace.Traces) string {
	t.Helper()
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const logLine = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"gen_ai.evaluation.result"}]}]}]}`

func TestRead(t *testing.T) {
	one, two := asJSON(t, request(t, 1)), asJSON(t, request(t, 2))
	indented := strings.ReplaceAll(strings.ReplaceAll(two, "{", "{\n  "), ",", ",\n")
	ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs([]byte(logLine))
	if err != nil {
		t.Fatal(err)
	}
	protoLogs, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	if err != nil {
		t.Fatal(err)
	}
	proto := asProto(t, request(t, 3))
	for _, x := range []struct {
		name, in    string
		spans, logs int
		faults      []string // what each message contains
	}{
		{"one document", one, 1, 0, nil},
		{"an indented document", indented, 2, 0, nil},
		{"indented documents one after the other", indented + "\n" + indented, 4, 0, nil},
		{"lines", one + "\n" + two + "\n", 3, 0, nil},
		{"lines with CRLF and blank ones", "\r\n" + one + "\r\n\r\n" + two, 3, 0, nil},
		{"a byte order mark", "\xef\xbb\xbf" + one, 1, 0, nil},
		{"a list of requests", "[" + one + "," + two + "]", 3, 0, nil},
		{"traces and logs", one + "\n" + logLine, 1, 1, nil},
		{"metrics are nothing of ours", `{"resourceMetrics":[]}` + "\n" + one, 1, 0, nil},
		{"protobuf", proto, 3, 0, nil},
		{"protobuf logs", string(protoLogs), 0, 1, nil},
		{"empty", "", 0, 0, []string{"in: it is empty"}},
		{"garbage", "hello\n", 0, 0, []string{"in:1: not OTLP"}},
		{"garbage between lines", one + "\n{oops\n" + two, 3, 0, []string{"in:2: not OTLP"}},
		{"a cut off line between lines", one + "\n" + two[:len(two)/2] + "\n" + two, 3, 0, []string{"in:2: not OTLP"}},
		{"a cut off last line", one + "\n" + two[:len(two)/2], 1, 0, []string{"in:2: not OTLP: the JSON is cut off"}},
		{"another kind of JSON", `{"hello":1}` + "\n" + one, 1, 0, []string{"in:1: not OTLP"}},
		{"a span that is none", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}` + "\n" + one, 1, 0, []string{"in:1: OTLP traces"}},
		{"two faults", "{\"a\":1}\n{\"b\":1}\n", 0, 0, []string{"in:1: not OTLP: expected an object with resourceSpans or resourceLogs; nor could anything else in it be read (2 faults)"}},
		{"protobuf cut off", proto[:len(proto)-3], 2, 0, []string{"cut off: the resource at byte"}},
		{"bytes", "\x00\x01\x02\xff", 0, 0, []string{"in:1: not OTLP"}},
		{"a binary that begins like protobuf", "\x0a\x03abc", 0, 0, []string{"not OTLP: the resource at byte 0"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			spans, logs := 0, 0
			err := Read("in", strings.NewReader(x.in), Sink{
				Traces: func(td ptrace.Traces) { spans += td.SpanCount() },
				Logs:   func(ld plog.Logs) { logs += ld.LogRecordCount() },
			})
			if spans != x.spans || logs != x.logs {
				t.Errorf("%d spans and %d log records, want %d and %d", spans, logs, x.spans, x.logs)
			}
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(x.faults) {
				t.Fatalf("faults %q, want %q", lines, x.faults)
			}
			for i := range lines {
				if !strings.Contains(lines[i], x.faults[i]) {
					t.Errorf("fault %q, want %q", lines[i], x.faults[i])
				}
			}
		})
	}
}

// A line of 100 MB ends in one error; what stands round it is read.
func TestLineTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	one := asJSON(t, request(t, 1))
	long := io.LimitReader(endless('x'), 100<<20)
	spans := 0
	err := Read("in", io.MultiReader(strings.NewReader(one+"\n{\""), long, strings.NewReader("\"}\n"+one)), Sink{
		Traces: func(td ptrace.Traces) { spans += td.SpanCount() },
	})
	if spans != 2 {
		t.Errorf("%d spans, want the 2 round the long line", spans)
	}
	var fault *Error
	if !errors.As(err, &fault) || fault.Line != 2 || !errors.Is(err, errTooLarge) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one fault in line 2", err)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(asJSON(f, request(f, 2))))
	f.Add([]byte(asProto(f, request(f, 2))))
	f.Add([]byte(logLine + "\n[{}]\n{"))
	f.Fuzz(func(t *testing.T, in []byte) {
		_ = Read("in", bytes.NewReader(in), Sink{Traces: func(ptrace.Traces) {}, Logs: func(plog.Logs) {}})
	})
}
