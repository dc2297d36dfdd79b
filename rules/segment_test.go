package rules_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// counts are good and bad events, counted half an hour after
// their counter was born at 0.
type counts struct{ good, bad int }

// segmented is a database with counters, by labels such as
// `agentslo_events_by_tenant_total{slo="completion",tenant="a"}`.
func segmented(t *testing.T, all map[string]counts) func(query string) map[string]float64 {
	t.Helper()
	var text strings.Builder
	text.WriteString("load 1m\n")
	for name, c := range all {
		for verdict, n := range map[string]int{"good": c.good, "bad": c.bad} {
			fmt.Fprintf(&text, "%s 0x30 %dx120\n", strings.Replace(name, "}", fmt.Sprintf(`,slo_service="support",environment="prod",agent="main",verdict=%q}`, verdict), 1), n)
		}
	}
	storage := promqltest.LoadedStorage(t, text.String())
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1e6)
	return func(query string) map[string]float64 {
		t.Helper()
		q, err := engine.NewInstantQuery(context.Background(), storage, nil, query, time.Unix(150*60, 0))
		require.NoError(t, err, query)
		defer q.Close()
		v, err := q.Exec(context.Background()).Vector()
		require.NoError(t, err, query)
		got := map[string]float64{}
		for _, s := range promql.Vector(v) {
			var key []string
			for _, name := range []string{"slo", "tenant", "tool"} {
				if value := s.Metric.Get(name); value != "" {
					key = append(key, value)
				}
			}
			got[strings.Join(key, "/")] = s.F
		}
		return got
	}
}

const segmentFile = `
service: support
dimensions: {tenant: {attribute: app.tenant}}
slos:
  completion: {objective: 99%}
  latency: {objective: 90%, threshold: 30s}
`

// The evidence of 30 bad of 100 against 1% is 30 ln 30 + 70 ln (0.7/0.99) = 77.8
// nats, that of two of two 2 ln 100 = 9.2, of one of one 4.6, of 12 of 1000 0.2,
// and 30 of 100 against 10% it is 15.4. A thousand good ones are evidence as well,
// but of nothing bad.
func TestWorstSegments(t *testing.T) {
	f := set(t, segmentFile).Files[0]
	ask := segmented(t, map[string]counts{
		`agentslo_events_by_tenant_total{slo="completion",tenant="waits"}`:   {70, 30},
		`agentslo_events_by_tenant_total{slo="completion",tenant="pair"}`:    {0, 2},
		`agentslo_events_by_tenant_total{slo="completion",tenant="unlucky"}`: {0, 1},
		`agentslo_events_by_tenant_total{slo="completion",tenant="big"}`:     {988, 12},
		`agentslo_events_by_tenant_total{slo="completion",tenant="happy"}`:   {50, 0},
		`agentslo_events_by_tenant_total{slo="completion",tenant="idle"}`:    {0, 0},
		`agentslo_events_by_tenant_total{slo="latency",tenant="well"}`:       {998, 2},
		`agentslo_events_by_tenant_total{slo="latency",tenant="waits"}`:      {70, 30},
		`agentslo_events_by_tenant_total{slo="latency",tenant="pair"}`:       {0, 2}, // 4.6 nats
	})
	day := 140 * time.Minute
	require.Equal(t, map[string]float64{"completion/waits": 0.3, "completion/pair": 1, "completion/unlucky": 1, "completion/big": 0.012, "completion/happy": 0, "latency/waits": 0.3, "latency/pair": 1, "latency/well": 0.002},
		ask(rules.SegmentErrorRatio(f, nil, "tenant", day)))
	evidence := ask(rules.SegmentEvidence(f, nil, "tenant", day))
	for key, want := range map[string]float64{
		"completion/waits": 30*math.Log(30) + 70*math.Log(0.7/0.99), "completion/pair": 2 * math.Log(100), "completion/unlucky": math.Log(100),
		"completion/big": 12*math.Log(1.2) + 988*math.Log(0.988/0.99), "completion/happy": 50 * math.Log(1/0.99),
		"latency/waits": 30*math.Log(3) + 70*math.Log(0.7/0.9), "latency/pair": 2 * math.Log(10),
	} {
		require.InDelta(t, want, evidence[key], 1e-9, key)
	}
	require.Equal(t, map[string]float64{"completion/waits": 0.3, "completion/pair": 1, "latency/waits": 0.3}, ask(rules.WorstSegments(f, nil, "tenant", day, 10)))
	require.Equal(t, map[string]float64{"completion/pair": 1}, ask(rules.WorstSegments(f, nil, "tenant", day, 1)))
	require.Equal(t, map[string]float64{"latency/waits": 0.3}, ask(rules.WorstSegments(f, f.Objective("latency"), "tenant", day, 10)))
	// The same in Go.
	for name, c := range map[string]counts{"completion/waits": {70, 30}, "completion/pair": {0, 2}, "completion/unlucky": {0, 1}, "completion/big": {988, 12}, "completion/happy": {50, 0}, "latency/waits": {70, 30}, "latency/pair": {0, 2}, "latency/well": {998, 2}} {
		objective, _, _ := strings.Cut(name, "/")
		_, worst := ask(rules.WorstSegments(f, nil, "tenant", day, 10))[name]
		require.Equal(t, worst, rules.Proven(f.Objective(objective), float64(c.good), float64(c.bad)), name)
	}
	require.Equal(t, 30.0, ask(rules.SegmentBad(f, nil, "tenant", day))["completion/waits"])
	require.Equal(t, 1000.0, ask(rules.SegmentEvents(f, nil, "tenant", day))["completion/big"])
}

// 100 runs, search called 200 times and failing in 5%, refund 20 times and in
// 10%: 0.95² × 0.9^0.2. That two SLOs count search makes it no second step, and
// being slow is no failure.
func TestPredicted(t *testing.T) {
	f := set(t, `
service: support
slos:
  tool_calls: {sli: completion, scope: tool, objective: 98%}
  completion: {objective: 99%}
  search: {sli: completion, scope: tool, tools: [search], objective: 98%}
  slow: {sli: latency, scope: tool, threshold: 1s, objective: 98%}
  sub_agents: {sli: completion, scope: agent, objective: 98%}
`).Files[0]
	counters := map[string]counts{
		`agentslo_events_total{slo="completion"}`:                             {96, 4},
		`agentslo_events_total{slo="sub_agents"}`:                             {45, 5}, // all of one agent
		`agentslo_events_by_tool_total{slo="tool_calls",tool="search"}`:       {190, 10},
		`agentslo_events_by_tool_total{slo="tool_calls",tool="refund"}`:       {18, 2},
		`agentslo_events_by_tool_total{slo="tool_calls",tool="never_called"}`: {0, 0},
		`agentslo_events_by_tool_total{slo="search",tool="search"}`:           {190, 10},
		`agentslo_events_by_tool_total{slo="slow",tool="search"}`:             {0, 200},
	}
	ask := segmented(t, counters)
	require.InDelta(t, math.Pow(.95, 2)*math.Pow(.9, .2), ask(rules.Predicted(f, slo.ScopeTool, 140*time.Minute))[""], 1e-9)
	require.InDelta(t, math.Pow(.9, .5), ask(rules.Predicted(f, slo.ScopeAgent, 140*time.Minute))[""], 1e-9)
	require.Equal(t, []slo.Scope{slo.ScopeTool, slo.ScopeAgent}, rules.StepScopes(f))

	// A step that always fails leaves nothing; without runs there is no prediction.
	counters[`agentslo_events_by_tool_total{slo="tool_calls",tool="refund"}`] = counts{0, 2}
	require.Zero(t, segmented(t, counters)(rules.Predicted(f, slo.ScopeTool, 140*time.Minute))[""])
	counters[`agentslo_events_total{slo="completion"}`] = counts{0, 0}
	require.Empty(t, segmented(t, counters)(rules.Predicted(f, slo.ScopeTool, 140*time.Minute)))

	plain := set(t, segmentFile).Files[0]
	require.Empty(t, rules.StepScopes(plain))
	require.Empty(t, rules.Predicted(plain, slo.ScopeTool, time.Hour))
}
