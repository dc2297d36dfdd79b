package convention

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// What was learnt of the order of keys must not change what a span says:
// neither another order, nor more keys than can be learnt, nor another
// extractor before it.
func TestOrderOfKeysIsOnlyAGuess(t *testing.T) {
	scope := pcommon.NewInstrumentationScope()
	read := func(f *Facts, x *Extractor, keys ...string) string {
		s := ptrace.NewSpan()
		for _, k := range keys {
			switch k {
			case "gen_ai.operation.name":
				s.Attributes().PutStr(k, "execute_tool")
			default:
				s.Attributes().PutStr(k, "value of "+k)
			}
		}
		x.Span(f, scope, s)
		return fmt.Sprint(f.Kind, f.ToolName, f.AgentName, f.Attributes)
	}
	keys := []string{"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.agent.name", "app.tenant", "app.other"}
	x := New("app.tenant")
	want := read(&Facts{}, x, keys...)

	var f Facts
	read(&f, New("app.other", "x", "app.tenant"), keys...)
	for n := range 3 * maxSteps {
		read(&f, x, keys[n%len(keys)], fmt.Sprintf("key.%d", n), keys[(n+1)%len(keys)])
	}
	for n := range keys {
		if got := read(&f, x, append(keys[n:len(keys):len(keys)], keys[:n]...)...); got != want {
			t.Errorf("from key %d on: %s, want %s", n, got, want)
		}
	}
	if n := len(f.reading.route.steps); n > maxSteps+len(x.keys.entries) {
		t.Errorf("%d keys learnt", n)
	}
}
