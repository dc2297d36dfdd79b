package frameworks

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Two recordings of the same work differ in ids, times and places, and in
// nothing when they are normalised.
func TestNormalisedRecordingsOfTheSameWorkAreTheSame(t *testing.T) {
	made := func(id byte, at time.Time, port string) ptrace.Traces {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "s")
		rs.Resource().Attributes().PutStr("host.name", "machine-"+port)
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID([16]byte{id, 1})
		span.SetSpanID([8]byte{id, 2})
		span.SetParentSpanID([8]byte{id, 3}) // of a span that never came
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Second)))
		span.Attributes().PutStr("trace", "of "+span.TraceID().String())
		span.Attributes().PutStr("session", strings.Repeat(string('a'+rune(id)), 8)+"-0000-4000-8000-000000000000")
		span.Attributes().PutStr("url", "http://127.0.0.1:"+port+"/v1 on 127.0.0.1")
		span.Attributes().PutStr("stack", "at answer (/home/x"+port+"/main.mjs:"+port+":1)")
		span.Attributes().PutStr("at", at.Format(time.RFC3339))
		span.Attributes().PutStr("event", "id-"+port)
		return td
	}
	normalised := func(td ptrace.Traces, port string) string {
		n := normaliser{name: "a/b", root: "/home/x" + port, url: "http://127.0.0.1:" + port, generated: []*regexp.Regexp{regexp.MustCompile(`(id-)\d+`)}}
		text, logs, err := n.normalise([]ptrace.Traces{td}, nil)
		if err != nil || logs != "" {
			t.Fatal(logs, err)
		}
		return text
	}
	one := normalised(made(1, time.Unix(1_800_000_000, 0), "4001"), "4001")
	other := normalised(made(2, time.Unix(1_900_000_000, 5), "5002"), "5002")
	if one != other {
		t.Errorf("%s\nand\n%s", one, other)
	}
	for _, gone := range []string{"0101", "4001", "machine", "2027", "/home/"} {
		if strings.Contains(one, gone) {
			t.Errorf("%s is still in %s", gone, one)
		}
	}
	for _, there := range []string{`"startTimeUnixNano":"1767225600000000000","endTimeUnixNano"`, `"endTimeUnixNano":"1767225601000000000"`, "world.example", "/app/main.mjs)", "id-1"} {
		if !strings.Contains(strings.ReplaceAll(one, "\n       ", ""), there) {
			t.Errorf("%s is not in %s", there, one)
		}
	}
}

// The layout changes blanks and nothing else.
func TestLayoutKeepsEveryValue(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var laid bytes.Buffer
		for requests := json.NewDecoder(bytes.NewReader(text)); ; {
			var request json.RawMessage
			if err := requests.Decode(&request); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
			var before, after bytes.Buffer
			again, err := layout(request)
			if err == nil {
				err = json.Compact(&before, request)
			}
			if err == nil {
				err = json.Compact(&after, again)
			}
			if err != nil || before.String() != after.String() {
				t.Errorf("%s: %v", name, err)
			}
			laid.Write(again)
		}
		if laid.String() != string(text) {
			t.Errorf("%s is not laid out as a recording is", name)
		}
	}
}
