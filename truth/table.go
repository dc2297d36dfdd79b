package truth

import (
	"fmt"
	"io"
	"strings"
)

// WriteTable writes the expected values as a Markdown table: a line a run.
func WriteTable(w io.Writer, all []*Expected) {
	fmt.Fprint(w, `# What the recordings should be read as

Worked out by this package from what the model server, the tools and the application saw; written by
`+"`go test ./truth -run Table -update`"+`. Verdicts are those of examples/support-agent/slo.yaml, in the order
`+strings.Join(SLOs, ", ")+`: G good, B bad, U unknown, X excluded. Tokens are input (cached) / output (reasoning).
After ~ stands what the telemetry allows a reader to say instead: less than the truth, never something else.
`)
	framework := ""
	for _, x := range all {
		if x.Framework != framework {
			framework = x.Framework
			fmt.Fprintf(w, "\n## %s\n\n| recording | outcome | model calls | tools ok, failed | tokens | cost, USD | verdicts | why |\n|---|---|---|---|---|---|---|---|\n", framework)
		}
		name := strings.TrimPrefix(x.Name, framework+"/")
		if x.NoRun != "" {
			fmt.Fprintf(w, "| %s | no run | | | | | | %s |\n", name, x.NoRun)
			continue
		}
		for i := range x.Runs {
			r := &x.Runs[i]
			label := name
			if len(x.Runs) > 1 {
				label += fmt.Sprintf(" (%d of %d)", i+1, len(x.Runs))
			}
			failed := r.cell("tool_calls.failed")
			if class := r.cell("tool_calls.class"); class != "" {
				failed += " (" + class + ")"
			}
			var verdicts []string
			for _, name := range SLOs {
				verdicts = append(verdicts, letters.Replace(r.cell("slo."+name)))
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s, %s | %s (%s) / %s (%s) | %s | %s | %s |\n", label, r.cell("outcome"), r.cell("model_calls"),
				r.cell("tool_calls.ok"), failed, r.cell("tokens.input"), r.cell("tokens.cached_input"), r.cell("tokens.output"), r.cell("tokens.reasoning"),
				r.cell("cost_usd"), strings.Join(verdicts, " "), r.Why)
		}
	}
}

var letters = strings.NewReplacer("good", "G", "bad", "B", "unknown", "U", "excluded", "X", "|", "/")

// cell is the expectation of one fact: the truth, then what may be said instead.
func (r *ExpectedRun) cell(name string) string {
	f := r.Fact(name)
	if f == nil {
		return ""
	}
	text := strings.ReplaceAll(f.Wanted(), "|", " or ")
	for _, a := range f.Accept {
		value := a.Value
		if a.Within != nil {
			value = a.Within.String()
		}
		if value == "" {
			value = "none"
		}
		text += "~" + strings.ReplaceAll(value, "|", "/")
	}
	return text
}
