package processor

import (
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// What is said of a verdict names the calls it goes by.
func TestWhyOfSpend(t *testing.T) {
	const file = `== x
| service: s
| slos: {no_progress: {objective: 99%}, abandoned_spend: {objective: 99%, deadline: 4s, grace: 0s}, completion: {objective: 99%, provider_faults: exclude}}
`
	for spans, want := range map[string][]string{
		`1 - 0 9 ia:bot !err="429"
2 1 1 2 tool:look ~tool.call.arguments={"a":1} ~tool.call.result=x
3 1 2 3 tool:look ~tool.call.arguments={"a":1} ~tool.call.result=x
4 1 3 4 tool:look ~tool.call.arguments={"a":1} ~tool.call.result=x
5 1 6 7 chat:gpt-5 !err="429 Too Many Requests"`: {
			"brought nothing new: look (span 0000000000000003), look (span 0000000000000004)",
			"the deadline was 2027-01-15T08:00:04Z, 4.000 s after the start",
			"trouble at the provider: gpt-5 rate_limit",
		},
		`1 - 0 3 ia:bot
2 1 1 2 tool:look ~tool.call.arguments={"a":1} ~tool.call.result=x`: {
			"", "the deadline was 2027-01-15T08:00:04Z, 4.000 s after the start", "",
		},
	} {
		c := parseHostile(file + spans + "\n")[0]
		files, err := slo.Parse("slo.yaml", []byte(c.file))
		if err != nil {
			t.Fatal(err)
		}
		judged, _ := Derive(&slo.Set{Files: files}, func(e *Engine) { e.Consume(c.td, 0) })
		if len(judged) != 1 {
			t.Fatalf("%d runs", len(judged))
		}
		for i, f := range verdicts(&judged[0]) {
			if want[i] != "" && !strings.HasSuffix(f.How, want[i]) || want[i] == "" && strings.Contains(f.How, ";") && !strings.Contains(f.How, "measured") {
				t.Errorf("%s: %q, should end in %q", f.Name, f.How, want[i])
			}
		}
	}
}
