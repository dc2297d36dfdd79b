package rules_test

import (
	"fmt"
	"math"
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

const oneSLO = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
slos:
  completion: {objective: 99%}
`

func TestFirstFailureEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(2*time.Minute, nil)
	e.add("a", "completion", "bad", 1)
	w.run(2*time.Minute, nil)
	require.Equal(t, 1.0, w.increase("completion", "bad", "5m"))
	require.Equal(t, 1.0, w.increase("completion", "bad", "30d"))
	require.Equal(t, 0.0, w.increase("completion", "good", "30d"))
	require.Equal(t, 1.0, w.number("agentslo:error_ratio:30d"))
	require.InDelta(t, -99, w.number("agentslo:budget_remaining:ratio"), 1e-9)
}

// TestZeroOfOneSample: an embedded exporter writes a series' zero just before
// its first value, whenever the next evaluation may be.
func TestZeroOfOneSample(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{time.Second, 30 * time.Second, 61 * time.Second, 20 * time.Minute} {
		w := newWorld(t, oneSLO)
		w.now = w.now.Add(30 * time.Second)
		w.evaluate()
		e := w.target()
		e.born("a", "completion")
		w.scrape()
		w.now = w.now.Add(time.Millisecond)
		e.add("a", "completion", "bad", 1)
		w.scrape()
		w.now = w.now.Add(wait)
		if wait > time.Minute {
			w.scrape()
		}
		w.evaluate()
		require.Equal(t, 1.0, w.increase("completion", "bad", "1h"), wait)
	}
}

// ledger counts independently of any PromQL what exporters counted and
// Prometheus scraped, at every evaluation.
type ledger struct {
	w       *world
	scraped map[*target]map[string]float64 // in the present life
	ended   map[string]float64             // by verdict, of lives that are over
	at      []entry
}

type entry struct {
	time  time.Time
	total map[string]float64
}

func newLedger(w *world) *ledger {
	l := &ledger{w: w, scraped: map[*target]map[string]float64{}, ended: map[string]float64{}}
	w.scraped = func() {
		for _, t := range w.targets {
			if !t.up {
				continue
			}
			m := map[string]float64{}
			for k, v := range t.values {
				m[k] = v
			}
			l.scraped[t] = m
		}
	}
	w.each = func() { l.at = append(l.at, entry{w.now, l.total()}) }
	return l
}

func (l *ledger) total() map[string]float64 {
	total := map[string]float64{}
	for v, n := range l.ended {
		total[v] += n
	}
	for _, m := range l.scraped {
		for k, n := range m {
			total[verdictOf(k)] += n
		}
	}
	return total
}

// restart ends a life: what of it was not scraped is lost.
func (l *ledger) restart(t *target) {
	for k, n := range l.scraped[t] {
		l.ended[verdictOf(k)] += n
	}
	delete(l.scraped, t)
	t.restart()
}

// within is the number of events counted in the window that ends now. A window
// that begins between evaluations begins at the last one before.
func (l *ledger) within(verdict string, window time.Duration) float64 {
	begin := l.w.now.Add(-window)
	before := 0.0
	for _, e := range l.at {
		if e.time.After(begin) {
			break
		}
		before = e.total[verdict]
	}
	return l.at[len(l.at)-1].total[verdict] - before
}

// check compares every window of every verdict with the ledger.
func (l *ledger) check(name string) {
	l.w.t.Helper()
	f := set(l.w.t, oneSLO).Files[0]
	for _, window := range rules.Windows(f) {
		for _, v := range slo.Verdicts {
			require.Equal(l.w.t, l.within(v.String(), window), l.w.increase(name, v.String(), rules.Duration(window)),
				"%s in %s at %s", v, window, l.w.now.Sub(start))
		}
	}
}

// TestCountsAreExact throws everything at once at the rules that happens to
// exporters and servers and compares with the ledger every few minutes.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	seeds, hours := uint64(2), time.Duration(2)
	if long() {
		seeds, hours = 12, 12
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, oneSLO)
			w.keepRules(func(r promrules.Rule) bool { return strings.HasPrefix(r.Name(), "agentslo:events:increase") })
			l := newLedger(w)
			type replica struct {
				*target
				downUntil time.Time
			}
			var replicas []*replica
			for i := range 3 {
				r := &replica{target: w.target("instance", fmt.Sprintf("pod-%d:9464", i))}
				r.born("a", "completion")
				replicas = append(replicas, r)
			}
			var scrapesFrom, evaluatesFrom time.Time
			evaluatesFrom = w.now
			// A life that no evaluation has seen, see above.
			fresh := func(r *replica) bool { return r.shown.IsZero() || w.now.Sub(r.shown) < 3*time.Minute }
			chance := func(perHour float64) bool { return rng.Float64() < perHour*5/3600 }
			w.run(hours*time.Hour, func() {
				rate := 20.0
				if w.now.Sub(start)%(3*time.Hour) < 20*time.Minute {
					rate = 650 // a burst: nearly every step
				}
				for _, r := range replicas {
					if w.now.After(r.downUntil) {
						r.up = true
					}
					if chance(0.5) { // unreachable, and counting on
						r.up = false
						r.downUntil = w.now.Add(time.Duration(rng.IntN(40)) * time.Minute)
					}
					// A restart while evaluations are missed is another test's.
					if chance(0.5) && w.evaluates && w.now.Sub(evaluatesFrom) > 3*time.Minute {
						l.restart(r.target)
					}
					if r.holds(w.now) {
						continue
					}
					for chance(rate) { // geometric, so several at once happen too
						verdict := "good"
						if rng.Float64() < 0.05 {
							verdict = "bad"
						} else if rng.Float64() < 0.05 {
							verdict = "unknown"
						}
						r.add("a", "completion", verdict, 1)
					}
					if chance(0.2) { // another agent
						agent := fmt.Sprint("b", len(r.values))
						r.born(agent, "completion")
					}
				}
				if chance(1) {
					w.scrapes, scrapesFrom = false, w.now.Add(time.Duration(rng.IntN(4))*time.Minute)
				} else if w.now.After(scrapesFrom) {
					w.scrapes = true
				}
				if chance(0.5) && w.evaluates && !slices.ContainsFunc(replicas, fresh) {
					w.evaluates, evaluatesFrom = false, w.now.Add(time.Duration(rng.IntN(35))*time.Minute)
				} else if w.now.After(evaluatesFrom) {
					w.evaluates = true
				}
				if rng.IntN(10) == 0 && w.now.Sub(start)%time.Minute == 40*time.Second && w.evaluates && len(l.at) > 0 && w.now.Sub(l.at[len(l.at)-1].time) == 5*time.Second {
					l.check("completion")
				}
			})
			l.finish("completion")
		})
	}
}

// finish lets everything be scraped and evaluated once more, and checks.
func (l *ledger) finish(name string) {
	l.w.t.Helper()
	l.w.scrapes, l.w.evaluates = true, true
	for l.w.now.Sub(start)%time.Minute != 40*time.Second {
		l.w.run(5*time.Second, nil)
	}
	l.check(name)
}

func TestMissedEvaluationsHeal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	l := newLedger(w)
	e := w.target()
	e.born("a", "completion")
	busy := func() {
		if !e.holds(w.now) && w.now.Second() == 20 {
			e.add("a", "completion", "good", 1)
		}
	}
	w.run(40*time.Minute, busy)
	w.evaluates = false
	w.run(10*time.Minute, busy)
	late := w.target("instance", "b:9464") // born, and failing, while nothing is evaluated
	late.born("a", "completion")
	w.run(5*time.Minute, busy)
	late.add("a", "completion", "bad", 3)
	w.run(15*time.Minute, busy)
	w.evaluates = true
	w.run(20*time.Minute, busy)
	require.Equal(t, 3.0, w.increase("completion", "bad", "30d"))
	l.finish("completion")
}

// TestServerOutage: neither scrapes nor evaluations for hours, while the
// exporter counts on.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	l := newLedger(w)
	e := w.target()
	e.born("a", "completion")
	busy := func() {
		if !e.holds(w.now) && w.now.Second() == 20 {
			e.add("a", "completion", "good", 1)
		}
	}
	w.run(30*time.Minute, busy)
	w.scrapes, w.evaluates = false, false
	w.run(5*time.Hour, busy)
	w.scrapes, w.evaluates = true, true
	w.run(10*time.Minute, busy)
	l.finish("completion")
}

// TestLongServerOutage: what was counted before is kept, what was counted
// meanwhile is not known and not counted.
func TestLongServerOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	w.keep("agentslo:events:increase1h", "agentslo:events:increase30d")
	e := w.target()
	e.born("a", "completion")
	w.run(5*time.Minute, nil)
	e.add("a", "completion", "bad", 2)
	e.add("a", "completion", "good", 500)
	w.run(7*time.Hour, nil)
	w.now = w.now.Add(3 * 24 * time.Hour)
	e.add("a", "completion", "bad", 100)
	w.run(5*time.Minute, nil)
	e.add("a", "completion", "bad", 1)
	w.run(5*time.Minute, nil)
	require.Equal(t, 3.0, w.increase("completion", "bad", "30d"))
	require.Equal(t, 500.0, w.increase("completion", "good", "30d"))
	require.Equal(t, 1.0, w.increase("completion", "bad", "1h"))
}

// TestRulesMeetARunningExporter: weeks of counts are no burst; what follows counts.
func TestRulesMeetARunningExporter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	e.add("a", "completion", "bad", 4000)
	e.add("a", "completion", "good", 50000)
	w.evaluates = false
	w.run(90*time.Minute, nil)
	w.evaluates = true
	w.run(5*time.Minute, nil)
	require.Equal(t, 0.0, w.increase("completion", "bad", "30d"))
	require.Empty(t, w.firing(rules.AlertBudgetBurn))
	e.add("a", "completion", "bad", 1)
	w.run(2*time.Minute, nil)
	require.Equal(t, 1.0, w.increase("completion", "bad", "5m"))
	require.Equal(t, 1.0, w.increase("completion", "bad", "30d"))
}

// TestRestartBetweenScrapeAndEvaluation: what the last scrape of a life saw is
// counted although no evaluation saw it.
func TestRestartBetweenScrapeAndEvaluation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(5*time.Minute, nil)
	e.add("a", "completion", "good", 100)
	w.run(time.Minute, nil) // ends at a full minute; the evaluation was at :35
	e.add("a", "completion", "bad", 5)
	w.run(15*time.Second, nil) // scraped at :10
	e.restart()
	w.run(time.Minute, nil)
	require.Equal(t, 5.0, w.increase("completion", "bad", "30d"))
	require.Equal(t, 100.0, w.increase("completion", "good", "30d"))
	e.add("a", "completion", "bad", 1)
	w.run(5*time.Minute, nil)
	require.Equal(t, 6.0, w.increase("completion", "bad", "30d"))
}

// TestLifeBetweenTwoEvaluations: the first failures of a life are scraped once,
// and it is over before any evaluation saw them.
func TestLifeBetweenTwoEvaluations(t *testing.T) {
	for _, interval := range []time.Duration{rules.Interval, 15 * time.Second} {
		w := newWorld(t, oneSLO)
		e := w.target()
		e.born("a", "completion")
		w.run(5*time.Minute, nil)
		e.add("a", "completion", "bad", 3)
		w.run(15*time.Second, nil) // scraped at :10, the evaluation is at :35
		e.restart()
		w.run(20*time.Second, nil)
		for range 8 { // and not again, at whatever interval
			w.now = w.now.Add(interval)
			w.scrape()
			w.evaluate()
		}
		require.Contains(t, []float64{0, 3}, w.increase("completion", "bad", "30d"))
		if interval == rules.Interval {
			require.Equal(t, 3.0, w.increase("completion", "bad", "30d"))
		}
	}
}

// TestReplicaComesAndGoes: gone for hours and back with its old counters, with
// fresh ones, or never.
func TestReplicaComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	l := newLedger(w)
	old, fresh, never, stays := w.target("instance", "old"), w.target("instance", "fresh"), w.target("instance", "never"), w.target()
	all := []*target{old, fresh, never, stays}
	for _, e := range all {
		e.born("a", "completion")
	}
	w.run(3*time.Minute, nil)
	for i, e := range all {
		e.add("a", "completion", "bad", float64(i+1))
		e.add("a", "completion", "good", float64(10*i))
	}
	w.run(10*time.Minute, nil)
	old.up, fresh.up, never.up = false, false, false
	w.run(3*time.Hour, nil)
	require.Equal(t, 10.0, w.increase("completion", "bad", "30d"))
	l.restart(fresh)
	old.up, fresh.up = true, true
	w.run(5*time.Minute, nil)
	require.Equal(t, 10.0, w.increase("completion", "bad", "30d"))
	old.add("a", "completion", "bad", 1)
	fresh.add("a", "completion", "bad", 1)
	w.run(5*time.Minute, nil)
	require.Equal(t, 12.0, w.increase("completion", "bad", "30d"))
	require.Equal(t, 2.0, w.increase("completion", "bad", "1h"))
	l.finish("completion")
}

// TestReplicasAreForgotten a day after they were last there, and not before.
func TestReplicasAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	w.keep("agentslo:events:increase30d")
	gone, stays := w.target("instance", "gone"), w.target()
	gone.born("a", "completion")
	stays.born("a", "completion")
	w.run(3*time.Minute, nil)
	gone.add("a", "completion", "bad", 7)
	w.run(3*time.Minute, nil)
	gone.up = false
	remembered := func() int { return len(w.query(`agentslo:events:state{agentslo_part="seen",instance="gone"}`)) }
	// A day of evaluations, after the 40 minutes in which the last sample is within reach.
	for range rules.ForgetAfter + 30 {
		w.now = w.now.Add(rules.Interval)
		w.scrape()
		w.evaluate()
	}
	require.Equal(t, 4, remembered())
	for range 20 {
		w.now = w.now.Add(rules.Interval)
		w.scrape()
		w.evaluate()
	}
	require.Equal(t, 0, remembered())
	require.Equal(t, 7.0, w.increase("completion", "bad", "30d"))
	gone.up = true // and it is back after all
	w.now = w.now.Add(rules.Interval)
	w.scrape()
	w.evaluate()
	require.Equal(t, 7.0, w.increase("completion", "bad", "30d"))
}

// TestBudgetOfAnIdleAgent: the whole of it without runs, and what runs of weeks
// ago left of it, until they leave the window.
func TestBudgetOfAnIdleAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	w.keep("agentslo:budget_remaining:ratio", "agentslo:error_ratio:1h", "agentslo:evidence:3d")
	w.run(10*time.Minute, nil)
	require.Equal(t, 1.0, w.number("agentslo:budget_remaining:ratio"))
	require.Equal(t, 0.0, w.number("agentslo:error_ratio:1h"))
	e := w.target()
	e.born("a", "completion")
	w.run(5*time.Minute, nil)
	e.add("a", "completion", "good", 199)
	e.add("a", "completion", "bad", 1)
	w.run(5*time.Minute, nil)
	half := 1 - 1/(0.01*200)
	require.InDelta(t, half, w.number("agentslo:budget_remaining:ratio"), 1e-12)
	idle := func(d time.Duration) { // one evaluation every two hours, for speed: the others are missed
		for end := w.now.Add(d); w.now.Before(end); w.evaluate() {
			w.now = w.now.Add(2 * time.Hour)
			w.scrape()
		}
	}
	idle(29 * 24 * time.Hour)
	require.InDelta(t, half, w.number("agentslo:budget_remaining:ratio"), 1e-12)
	require.Equal(t, 0.0, w.number("agentslo:error_ratio:3d"))
	require.Equal(t, 0.0, w.number("agentslo:evidence:3d"))
	idle(24 * time.Hour)
	require.Equal(t, 1.0, w.number("agentslo:budget_remaining:ratio"))
}

// TestFileLabelsMayChange: the series get the new label and no count is lost.
func TestFileLabelsMayChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO+"labels: {team: red}\n")
	e := w.target()
	e.born("a", "completion")
	w.run(3*time.Minute, nil)
	e.add("a", "completion", "bad", 3)
	w.run(3*time.Minute, nil)
	require.Equal(t, 1, len(w.query(`agentslo:error_ratio:1h{team="red"}`)))
	w.load(oneSLO + "labels: {team: blue}\n")
	w.run(2*time.Minute, nil)
	require.Equal(t, map[string]float64{`{environment="prod", slo="completion", slo_service="bot", team="blue", verdict="bad"}`: 3},
		w.query(`agentslo:events:increase30d{verdict="bad"}`))
}

// TestEvidenceAtTheEnds: with all runs good, and all of them bad, it is a
// number, that of the formula.
func TestEvidenceAtTheEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(3*time.Minute, nil)
	e.add("a", "completion", "good", 40)
	w.run(2*time.Minute, nil)
	require.Equal(t, 0.0, w.number("agentslo:evidence:1h"))
	w.run(70*time.Minute, nil)
	e.add("a", "completion", "bad", 3)
	w.run(2*time.Minute, nil)
	require.InDelta(t, 3*math.Log(100), w.number("agentslo:evidence:1h"), 1e-9)
	// 3 bad, 40 good: r = 3/43.
	require.InDelta(t, 3*math.Log(3./43/0.01)+40*math.Log(40./43/0.99), w.number("agentslo:evidence:6h"), 1e-9)
	for name, v := range w.query(`{__name__=~"agentslo:.+"}`) {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0), name)
	}
}

// TestEveryAgentItsOwnBudget with `by: [agent]`.
func TestEveryAgentItsOwnBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO+"by: [agent]\n")
	e := w.target()
	e.born("a", "completion")
	e.born("b", "completion")
	w.run(3*time.Minute, nil)
	e.add("a", "completion", "bad", 2)
	e.add("b", "completion", "good", 7)
	w.run(2*time.Minute, nil)
	require.Equal(t, map[string]float64{
		`{agent="a", environment="prod", slo="completion", slo_service="bot"}`: 1 - 1/0.01,
		`{agent="b", environment="prod", slo="completion", slo_service="bot"}`: 1,
	}, w.query(`round(agentslo:budget_remaining:ratio, 0.001)`))
}
