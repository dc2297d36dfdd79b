package page

import (
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// Of three tenants one waits, one had a single bad run and one is fine; and
// completion stands beside what its tool calls make of it: 190 good of 200 in
// 100 runs is 0.95² = 90.25%.
func TestPageNamesTheWorst(t *testing.T) {
	w := newWorld(t)
	files, err := slo.Parse("slo.yaml", []byte(`
service: support-agent
environment: prod
dimensions: {tenant: {baggage: tenant}, version: {resource: service.version}}
slos:
  completion: {objective: 99%}
  tool_calls: {sli: completion, scope: tool, objective: 90%}
`))
	if err != nil {
		t.Fatal(err)
	}
	w.set = &slo.Set{Files: files}
	counted := func(metric, name string, good, bad float64, pairs ...string) {
		for verdict, total := range map[string]float64{"good": good, "bad": bad, "unknown": 0, "excluded": 0} {
			w.add(metric, func(i int) float64 { return float64(int(total * float64(i) / minutes)) },
				append(pairs, "slo_service", "support-agent", "environment", "prod", "agent", "support-main", "slo", name, "verdict", verdict)...)
		}
	}
	w.events("completion", 94, 6, 0, 0)
	w.events("tool_calls", 190, 10, 0, 0)
	counted("agentslo_events_by_tool_total", "tool_calls", 190, 10, "tool", "search")
	counted("agentslo_events_by_tenant_total", "completion", 20, 5, "tenant", "<b>waits</b>")
	counted("agentslo_events_by_tenant_total", "completion", 0, 1, "tenant", "unlucky")
	counted("agentslo_events_by_tenant_total", "completion", 74, 0, "tenant", "fine")
	w.store()
	body := get(t, w.handler(runs(map[string]float64{"answered": 94, "error": 6})))
	expectAll(t, body, "90% of tool calls succeed", "94% measured, 90.2% predicted from tool calls",
		"Worst by tenant", "&lt;b&gt;waits&lt;/b&gt;", ">20%<", "5 of 25", "Worst by tool", "None is proven to be worse than its objective allows.")
	for _, never := range []string{"unlucky", "fine<", "Worst by version", "<b>waits"} {
		if strings.Contains(body, never) {
			t.Errorf("the page says %q", never)
		}
	}
}
