package rules_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, oneSLO)
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
			chance := func(perHour float64) bool { return rng.Float64() < perHour*5/3600 }
			w.run(8*time.Hour, func() {
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
				if chance(0.5) && w.evaluates {
					w.evaluates, evaluatesFrom = false, w.now.Add(time.Duration(rng.IntN(35))*time.Minute)
				} else if w.now.After(evaluatesFrom) {
					w.evaluates = true
				}
				if rng.IntN(50) == 0 && w.now.Sub(start)%time.Minute == 40*time.Second && w.evaluates && len(l.at) > 0 && w.now.Sub(l.at[len(l.at)-1].time) == 5*time.Second {
					l.check("completion")
				}
			})
		})
	}
}
