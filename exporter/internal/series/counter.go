package series

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/slo"
)

// counter is one label set of a counter family. A family that splits by
// verdict holds all four in one, so that they are born together and read
// together; any other holds one count.
type counter struct {
	birth
	labels []string
	counts []uint64
	// exposed are the counts that scrapers saw last; only of dimensions.
	exposed []uint64
	// bad is the last bad run.
	bad exemplar
}

type exemplar struct {
	trace pcommon.TraceID
	at    time.Time
}

// counters is a family of them.
type counters struct {
	table[counter]
	name      string
	desc      *prometheus.Desc
	byVerdict bool
	// unit is how many counts are 1 of what is published: amounts that are no
	// whole numbers are counted in billionths, so that sums stay exact.
	unit float64
}

// The position of a verdict in counter.counts is that in slo.Verdicts.
var verdictPosition = func() (at [len(slo.Verdicts)]int) {
	for i, v := range slo.Verdicts {
		at[v] = i
	}
	return at
}()

const badPosition = 1 // checked by a test

func newCounters(name, help string, limit int, byVerdict bool, labels, folding []string) *counters {
	width, all := 1, labels
	if byVerdict {
		width, all = len(slo.Verdicts), append(labels[:len(labels):len(labels)], "verdict")
	}
	return &counters{
		name: name, desc: prometheus.NewDesc(name, help, all, nil), byVerdict: byVerdict, unit: 1,
		table: newTable(len(labels), limit, positions(labels, folding), func(labels []string, now time.Time) *counter {
			return &counter{birth: birth{at: now}, labels: labels, counts: make([]uint64, width)}
		}),
	}
}

// positions gives the indexes of some labels.
func positions(labels, of []string) []int {
	at := make([]int, len(of))
	for i, name := range of {
		at[i] = -1
		for j, l := range labels {
			if l == name {
				at[i] = j
			}
		}
	}
	return at
}

// billionths is the unit of counters of amounts.
const billionths = 1e9

// inBillionths makes the family one of amounts.
func (c *counters) inBillionths() *counters {
	c.unit = billionths
	return c
}

// addAmount adds to a family of amounts. An amount that no run has is left out.
func (c *counters) addAmount(now time.Time, amount float64, labels ...string) {
	if amount >= 0 && amount < 1e9 {
		c.add(now, uint64(math.Round(amount*billionths)), labels...)
	}
}

func (c *counters) add(now time.Time, n uint64, labels ...string) {
	g, _ := c.at(now, labels...)
	g.counts[0] += n
}

// count counts n events with one verdict.
func (g *counter) count(v slo.Verdict, n uint64, trace pcommon.TraceID, now time.Time) {
	if n == 0 {
		return
	}
	g.counts[verdictPosition[v]] += n
	if v == slo.Bad && !trace.IsEmpty() {
		g.bad = exemplar{trace, now}
	}
}

// sample is a copy of one series, taken under the lock.
type sample struct {
	desc     *prometheus.Desc
	labels   []string
	verdict  string // "" where the family has none
	value    uint64
	unit     float64
	born     time.Time
	exemplar exemplar
}

func (c *counters) snapshot(to []sample, now time.Time, hold time.Duration) []sample {
	for _, g := range c.sets {
		visible := g.visible(now, hold)
		for i, n := range g.counts {
			s := sample{desc: c.desc, labels: g.labels, born: g.at, unit: c.unit}
			if c.byVerdict {
				s.verdict = slo.Verdicts[i].String()
			}
			if visible {
				s.value = n
				if c.byVerdict && i == badPosition {
					s.exemplar = g.bad
				}
				if g.exposed != nil {
					g.exposed[i] = n
				}
			}
			to = append(to, s)
		}
	}
	return to
}

func (s *sample) metric() prometheus.Metric {
	labels := s.labels
	if s.verdict != "" {
		labels = append(labels[:len(labels):len(labels)], s.verdict)
	}
	m, err := prometheus.NewConstMetricWithCreatedTimestamp(s.desc, prometheus.CounterValue, float64(s.value)/s.unit, s.born, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(s.desc, err)
	}
	if s.exemplar.at.IsZero() {
		return m
	}
	with, err := prometheus.NewMetricWithExemplars(m, prometheus.Exemplar{
		Value: 1, Labels: prometheus.Labels{"trace_id": s.exemplar.trace.String()}, Timestamp: s.exemplar.at,
	})
	if err != nil {
		return m // a count without its example is still a count
	}
	return with
}
