package rules_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	promrules "github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

const segmentAlertFile = `
service: bot
environment: prod
labels: {tenant: all, team: bots}
dimensions: {tenant: {attribute: app.tenant, keep: 9, alert: ticket}}
slos:
  completion: {objective: 95%}
  quiet: {sli: custom, good: 'true', objective: 95%, alert: none}
`

// One tenant among many waits: half of its two runs an hour fail, which the
// budget of all, at one bad run in a hundred, does not show. Another had a
// single run, and that was bad. Exporters restart, and a tenant is folded.
func TestTheCustomerWhoWaitsHasAnAlert(t *testing.T) {
	w := newWorld(t, segmentAlertFile)
	w.keepRules(func(r promrules.Rule) bool {
		return r.Name() == rules.AlertSegmentBurn || strings.HasPrefix(r.Name(), "agentslo:events_by_tenant")
	})
	t.Parallel()
	w.scrapeEvery = time.Minute
	exporter := w.target()
	want := map[string]float64{}
	count := func(name, tenant, verdict string) {
		exporter.add("main", name, verdict, 1)
		exporter.add("main", name+"@"+tenant, verdict, 1)
		want[tenant+"/"+verdict]++
	}
	exporter.born("main", "completion")
	for _, tenant := range []string{"waits", "unlucky", "big", "quiet", "folded"} {
		exporter.born("main", "completion@"+tenant)
	}
	exporter.born("main", "quiet@waits") // alert: none
	failing := true
	n := 0
	step := func() {
		if exporter.holds(w.now) {
			return
		}
		switch since := w.now.Sub(start); {
		case since%(30*time.Minute) == 0:
			n++
			if failing && n%2 == 0 {
				count("completion", "waits", "bad")
			} else {
				count("completion", "waits", "good")
			}
			exporter.add("main", "quiet@waits", "bad", 1)
		case since%time.Minute == 20*time.Second:
			count("completion", "big", "good")
		case since%(10*time.Minute) == 40*time.Second:
			count("completion", "folded", "good")
		}
	}
	fires := func() []string {
		var tenants []string
		for ls := range w.query(fmt.Sprintf(`sum by (slo, tenant, severity, tier, dimension) (ALERTS{alertname=%q,alertstate="firing"})`, rules.AlertSegmentBurn)) {
			tenants = append(tenants, ls)
		}
		slices.Sort(tenants)
		return tenants
	}
	w.run(10*time.Minute, nil)
	count("completion", "unlucky", "bad")
	w.run(3*time.Hour, step)
	require.Empty(t, fires(), "three bad runs of six are no evidence yet")
	w.run(90*time.Minute, step)
	w.run(2*time.Minute, nil) // what no scrape saw is lost with the process
	exporter.restart()
	w.run(6*time.Hour, step)
	require.Equal(t, []string{`{dimension="tenant", severity="ticket", slo="completion", tenant="waits", tier="segment"}`}, fires())
	all := want["waits/bad"] + want["unlucky/bad"]
	require.Less(t, all/(all+want["waits/good"]+want["big/good"]+want["folded/good"]), 0.05, "the budget of all is well")

	// A folded value's series end, and what no scrape saw of it goes on elsewhere.
	for _, v := range slo.Verdicts {
		delete(exporter.values, "main/completion@folded/"+v.String())
	}
	exporter.born("main", "completion@__overflow__")
	w.run(2*time.Minute, nil)
	exporter.add("main", "completion@__overflow__", "good", 3)
	want["__overflow__/good"] = 3
	w.run(10*time.Minute, nil)
	for key, n := range want {
		tenant, verdict, _ := strings.Cut(key, "/")
		require.Equal(t, n, w.number(fmt.Sprintf(`agentslo:events_by_tenant:increase3d{slo="completion",tenant=%q,verdict=%q}`, tenant, verdict)), key)
	}

	// It recovers: the ticket ends, though three days still hold its failures.
	failing = false
	step2 := func() {
		if w.now.Sub(start)%(30*time.Minute) == 0 {
			count("completion", "waits", "good")
		}
	}
	w.run(11*time.Hour, step2)
	require.Empty(t, fires())
}

// By chance all values of a dimension together raise no more tickets than one
// SLO may raise false pages: ten tenants at exactly the budget, ten runs an hour
// each, for 300 months.
func TestSegmentAlertsAreRare(t *testing.T) {
	f := set(t, segmentAlertFile).Files[0]
	var needed float64
	for _, g := range rules.Groups(&slo.Set{Files: []*slo.File{f}}) {
		for _, r := range g.Rules {
			if r.Alert == rules.AlertSegmentBurn {
				line := r.Expr[strings.LastIndex(r.Expr, ", 1)) > ")+len(", 1)) > "):]
				_, err := fmt.Sscanf(line, "%g", &needed)
				require.NoError(t, err)
			}
		}
	}
	require.Greater(t, needed, 8.0)
	const months, tenants, perHour, budget = 300, 10, 10, 0.05
	random := rand.New(rand.NewPCG(4, 5))
	tickets := 0
	for range months * tenants {
		const long = 72 * perHour
		events := make([]bool, 0, 30*24*perHour)
		bad, quiet := 0, 0
		for range 30 * 24 * perHour {
			failed := random.Float64() < budget
			events = append(events, failed)
			if failed {
				bad++
			}
			n := len(events)
			if n > long && events[n-1-long] {
				bad--
			}
			quiet--
			if failed && bad >= 2 && slo.Evidence(float64(min(n, long)-bad), float64(bad), budget) > needed {
				if quiet <= 0 {
					tickets++
				}
				quiet = 3 * perHour // it keeps firing
			}
		}
	}
	t.Logf("%d tickets in %d months of %d tenants: %.3f a month, at %v nats", tickets, months, tenants, float64(tickets)/months, needed)
	require.Less(t, float64(tickets)/months, 0.3)
}
