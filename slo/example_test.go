package slo_test

import (
	"fmt"

	"github.com/agentslo/agentslo/slo"
)

func ExampleParse() {
	_, err := slo.Parse("slo.yaml", []byte(`service: support-agent
windw: 30d
slos:
  completion: {objective: 95}
  latency: {objective: 95%}
`))
	fmt.Println(err)
	// Output:
	// slo.yaml:2:1: unknown key windw in the file; did you mean window? (allowed: apiVersion, kind, service, environment, agents, aliases, match, window, labels, sampling, runs, dimensions, exclude, max_excluded, tools, prices, outcomes, slos, by, alerting, policy)
	// slo.yaml:4:27: objective: 95: a share is written 95% or 0.95; did you mean 95%?
	// slo.yaml:5:3: threshold is missing in SLO latency; add it, such as threshold: 30s
}

func ExampleEvidence() {
	// One failure of four runs is no reason to wake anybody; three are.
	fmt.Printf("%.1f %.1f\n", slo.Evidence(3, 1, 0.01), slo.Evidence(1, 3, 0.01))
	// Output: 2.4 11.6
}

func ExampleCompile() {
	p, _ := slo.Compile(`run.tool_calls <= 20 && attributes["app.tier"] == "gold"`)
	fmt.Println(p.Attributes)
	fmt.Println(p.Eval(map[string]any{"run.tool_calls": 3, "attributes": map[string]string{"app.tier": "gold"}}))
	fmt.Println(p.Eval(map[string]any{"run.tool_calls": 30}))
	fmt.Println(p.Eval(map[string]any{"run.tool_calls": 3}))
	// Output:
	// [app.tier]
	// true <nil>
	// false <nil>
	// false the telemetry does not carry a fact the expression needs
}
