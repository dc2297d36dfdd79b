package slo_test

import (
	"testing"

	"github.com/agentslo/agentslo/slo"
)

func TestTmp(t *testing.T) {
	s, err := slo.Load("testdata/design.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s.Files[0])
	t.Log(s.AttributeNames())
	s, err = slo.Load("testdata/minimal.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = slo.Parse("x.yaml", []byte(`servce: a
slos:
  latency: {objective: 95, threshold: 3}
  cost: {objective: 100%, threshold: 3s}
  c2: {sli: custom, objective: 99%, good: 'run.tol_calls < 3 && attributes[run.agent] == "x" && foo', when: "run.cost_usd == 1"}
  c3: {sli: custom, objective: 99%, good: 'size(attributes) > 1 || attributes.app.tier == "x" || has(run.cost) || has(run.cost_usd)'}
  c4:
    sli: custom
    objective: 20%
    good: |
      run.cost_usd <= 1.0
       && run.outcom == "x"
window: 1
`))
	t.Log("\n" + err.Error())
}
