package backtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentslo/agentslo/slo"
)

// Shapes of synthetic traffic, of failures and of an incident. A scenario may
// name one of each.
const (
	ShapePoisson = "poisson" // runs end at random, independently
	ShapeDaily   = "daily"   // the same, with a rate that follows a day: nearly nothing at night
	ShapeBursts  = "bursts"  // runs come in bursts of 20 on average, each within five minutes
	ShapeNightly = "nightly" // all runs of a day end within ten minutes after 02:00 UTC
	ShapeClumped = "clumped" // failures come 5 in a row on average
	ShapeStep    = "step"    // an incident: the error ratio jumps, and falls back at its end
	ShapeRamp    = "ramp"    // an incident: the error ratio rises evenly until its end
)

// Shapes lists all shapes.
var Shapes = []string{ShapePoisson, ShapeDaily, ShapeBursts, ShapeNightly, ShapeClumped, ShapeStep, ShapeRamp}

const (
	burstSize = 20.0
	clumpSize = 5.0
)

// Scenario is synthetic traffic of one SLO.
type Scenario struct {
	Shapes     []string      // of [Shapes]; none is poisson
	PerHour    float64       // counted runs an hour, on average, above 0
	ErrorRatio float64       // share of bad runs outside the incident, 0 to 1
	Seed       uint64        // the same seed gives the same runs
	Start      time.Time     // when the exporter is first scraped
	Scrape     time.Duration // between scrapes
	// From Incident, for IncidentFor, IncidentRatio of the runs are bad. Without a
	// duration there is no incident.
	Incident      time.Time
	IncidentFor   time.Duration
	IncidentRatio float64
}

// Check says what is wrong with a scenario.
func (s Scenario) Check() error {
	kinds := map[string]string{}
	for _, shape := range s.Shapes {
		kind := "traffic"
		switch shape {
		case ShapeClumped:
			kind = "failures"
		case ShapeStep, ShapeRamp:
			kind = "incident"
		default:
			if !slices.Contains(Shapes, shape) {
				return fmt.Errorf("scenario %q: it is made of %s", shape, strings.Join(Shapes, ", "))
			}
		}
		if other := kinds[kind]; other != "" {
			return fmt.Errorf("scenario %s,%s: both say the %s; name one", other, shape, kind)
		}
		kinds[kind] = shape
	}
	switch {
	case !(s.PerHour > 0 && s.PerHour <= 1e7):
		return fmt.Errorf("%g runs an hour: it must be above 0 and at most 10 million", s.PerHour)
	case !(s.ErrorRatio >= 0 && s.ErrorRatio <= 1), !(s.IncidentRatio >= 0 && s.IncidentRatio <= 1):
		return fmt.Errorf("an error ratio must be between 0 and 1")
	case kinds["failures"] != "" && s.ErrorRatio > clumpSize/(clumpSize+1):
		return fmt.Errorf("an error ratio of %g is more than clumps of failures can reach", s.ErrorRatio)
	}
	return nil
}

func (s Scenario) has(shape string) bool { return slices.Contains(s.Shapes, shape) }

// Truth is the share of runs that end at t that are bad, in the long run.
func (s Scenario) Truth(t time.Time) float64 {
	since := t.Sub(s.Incident)
	if s.IncidentFor <= 0 || since < 0 || since >= s.IncidentFor {
		return s.ErrorRatio
	}
	if s.has(ShapeRamp) {
		return s.ErrorRatio + (s.IncidentRatio-s.ErrorRatio)*float64(since)/float64(s.IncidentFor)
	}
	return s.IncidentRatio
}

// rate is how many runs an hour end at t, in the long run.
func (s Scenario) rate(t time.Time) float64 {
	day := t.Sub(t.Truncate(24 * time.Hour)).Hours()
	switch {
	case s.has(ShapeDaily): // at 14:00 twice the mean, at 02:00 a fiftieth
		return s.PerHour * (1 + 0.98*math.Cos((day-14)/24*2*math.Pi))
	case s.has(ShapeNightly):
		if day < 2 || day >= 2+1.0/6 {
			return 0
		}
		return s.PerHour * 24 * 6
	}
	return s.PerHour
}

// generator draws the runs of a scenario.
type generator struct {
	Scenario
	rng     *rand.Rand
	failing bool      // within a clump
	pending []float64 // runs of bursts, by scrape to come
	agent   *counters
	last    time.Time
}

// Traffic draws the scenario's runs, as an exporter shows them for an SLO.
func (s Scenario) Traffic(f *slo.File, o *slo.Objective) Traffic {
	return s.traffic(f, o, defaultAgent)
}

func (s Scenario) traffic(f *slo.File, o *slo.Objective, agent string) *generator {
	return &generator{Scenario: s, rng: rand.New(rand.NewPCG(s.Seed, 0x5105_1071)), agent: newCounters(f, o, agent)}
}

// Scrape implements [Traffic].
func (g *generator) Scrape(ctx context.Context, _, to time.Time, into *Storage) error {
	if g.last.IsZero() {
		g.last = g.Start
		g.agent.show(into, g.Start)
	}
	for at := g.last.Add(g.Scenario.Scrape); !at.After(to); at = at.Add(g.Scenario.Scrape) {
		for _, part := range g.parts(g.last, at) {
			good, bad := g.draw(part.from, part.to)
			g.agent.add(slo.Good, good)
			g.agent.add(slo.Bad, bad)
		}
		g.last = at
		g.agent.show(into, at)
	}
	return ctx.Err()
}

// parts splits the time between two scrapes where the incident begins or ends.
func (g *generator) parts(from, to time.Time) []span {
	if g.IncidentFor <= 0 {
		return []span{{from, to}}
	}
	var out []span
	for _, edge := range []time.Time{g.Incident, g.Incident.Add(g.IncidentFor)} {
		if edge.After(from) && edge.Before(to) {
			out = append(out, span{from, edge})
			from = edge
		}
	}
	return append(out, span{from, to})
}

// draw is how many runs ended in a short time.
func (g *generator) draw(from, to time.Time) (good, bad float64) {
	middle := from.Add(to.Sub(from) / 2)
	mean := g.rate(middle) * to.Sub(from).Hours()
	ratio := g.Truth(middle)
	independent := !g.has(ShapeClumped)
	if independent && !g.has(ShapeBursts) {
		return poisson(g.rng, mean*(1-ratio)), poisson(g.rng, mean*ratio)
	}
	runs := 0.0
	if g.has(ShapeBursts) {
		runs = g.bursts(mean, to.Sub(from))
	} else {
		runs = poisson(g.rng, mean)
	}
	for range int(runs) {
		if g.fails(ratio, independent) {
			bad++
		} else {
			good++
		}
	}
	return good, bad
}

// fails draws one run. In clumps, a run after a bad one is bad with a
// probability that makes clumps as long as they are to be, and one after a good
// one with the probability that leaves the ratio as it is.
func (g *generator) fails(ratio float64, independent bool) bool {
	p := ratio
	if !independent && ratio < clumpSize/(clumpSize+1) {
		p = 1 - 1/clumpSize
		if !g.failing {
			p = ratio / (1 - ratio) / clumpSize
		}
	}
	g.failing = g.rng.Float64() < p
	return g.failing
}

// bursts begins bursts and takes what is due of those that have begun.
func (g *generator) bursts(mean float64, d time.Duration) float64 {
	slots := max(int(5*time.Minute/g.Scenario.Scrape), 1)
	for len(g.pending) < slots {
		g.pending = append(g.pending, 0)
	}
	for range int(poisson(g.rng, mean/burstSize)) {
		size := 1 + int(math.Log(1-g.rng.Float64())/math.Log(1-1/burstSize))
		for range size {
			g.pending[g.rng.IntN(slots)]++
		}
	}
	due := g.pending[0]
	if d >= g.Scenario.Scrape/2 { // a scrape in two parts moves on once
		g.pending = append(g.pending[1:], 0)
	} else {
		g.pending[0] = 0
	}
	return due
}

// poisson draws a count: by multiplication of uniforms where it is small, else
// by the normal approximation of its square root's variance (Anscombe), off by
// less than a hundredth of a standard deviation at such means.
func poisson(rng *rand.Rand, mean float64) float64 {
	if mean <= 0 {
		return 0
	}
	if mean > 500 {
		return max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64()))
	}
	if mean > 30 { // sums of Poisson counts are Poisson
		half := math.Floor(mean / 30)
		n := 0.0
		for range int(half) {
			n += poisson(rng, mean/(half+1))
		}
		return n + poisson(rng, mean/(half+1))
	}
	n, limit := 0.0, math.Exp(-mean)
	for p := rng.Float64(); p > limit; p *= rng.Float64() {
		n++
	}
	return n
}

// counters are the series of one exporter for one SLO.
type counters struct {
	labels [4]labels.Labels
	values [4]float64
	alive  labels.Labels
}

const defaultAgent = "agent"

func newCounters(f *slo.File, o *slo.Objective, agent string) *counters {
	c := &counters{alive: labels.FromStrings(model.MetricNameLabel, aliveMetric, "job", "agentslo", "instance", "backtest")}
	b := labels.NewBuilder(labels.FromStrings(model.MetricNameLabel, eventsMetric, "slo_service", f.Service,
		"slo", o.Name, "agent", agent, "job", "agentslo", "instance", "backtest"))
	b.Set("environment", f.Environment) // an empty label is none
	for i, v := range slo.Verdicts {
		c.labels[i] = b.Set("verdict", v.String()).Labels()
	}
	return c
}

func (c *counters) add(v slo.Verdict, n float64) {
	for i, known := range slo.Verdicts {
		if known == v {
			c.values[i] += n
		}
	}
}

func (c *counters) show(into *Storage, at time.Time) {
	for i, ls := range c.labels {
		into.Append(ls, at.UnixMilli(), c.values[i])
	}
	into.Append(c.alive, at.UnixMilli(), 0)
}
