package series

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/exporter/internal/seen"
	"github.com/agentslo/agentslo/processor/summary"
)

// Snapshot is a book as plain data.
type Snapshot struct {
	Counters   map[string][]CounterState   `json:"counters"` // by metric name
	Histograms map[string][]HistogramState `json:"histograms"`
	Dimensions map[string][]ScopeState     `json:"dimensions"` // by dimension name
	Seen       []byte                      `json:"seen"`       // span ids, 8 bytes each
}

// CounterState is one label set of a counter family. Times are Unix
// nanoseconds. Counts are one number, or those of good, bad, unknown, excluded.
type CounterState struct {
	Labels    []string `json:"labels"`
	Counts    []uint64 `json:"counts"`
	Exposed   []uint64 `json:"exposed,omitempty"`
	Born      int64    `json:"born"`
	Collected bool     `json:"collected"`
	BadTrace  string   `json:"bad_trace,omitempty"`
	BadAt     int64    `json:"bad_at,omitempty"`
}

// HistogramState is one label set of a histogram family.
type HistogramState struct {
	Labels    []string  `json:"labels"`
	Bounds    []float64 `json:"bounds"`
	Buckets   []uint64  `json:"buckets"`
	Sum       float64   `json:"sum"`
	Born      int64     `json:"born"`
	Collected bool      `json:"collected"`
}

// ScopeState is the values of a dimension of one service and environment.
type ScopeState struct {
	Service     string   `json:"service"`
	Environment string   `json:"environment"`
	Values      []string `json:"values"` // the one without an event for the longest time first
	Folded      []byte   `json:"folded"` // hashes, 8 bytes each
}

// Snapshot copies the book.
func (b *Book) Snapshot() *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Snapshot{Counters: map[string][]CounterState{}, Histograms: map[string][]HistogramState{},
		Dimensions: map[string][]ScopeState{}, Seen: b.seen.Encode()}
	for _, f := range b.counterFamilies() {
		for _, g := range f.sets {
			state := CounterState{Labels: g.labels, Counts: slices.Clone(g.counts), Exposed: slices.Clone(g.exposed),
				Born: g.at.UnixNano(), Collected: g.collected}
			if !g.bad.at.IsZero() {
				state.BadTrace, state.BadAt = g.bad.trace.String(), g.bad.at.UnixNano()
			}
			s.Counters[f.name] = append(s.Counters[f.name], state)
		}
	}
	for _, f := range b.histogramFamilies() {
		for _, g := range f.sets {
			s.Histograms[f.name] = append(s.Histograms[f.name], HistogramState{Labels: g.labels, Bounds: f.bounds,
				Buckets: slices.Clone(g.buckets), Sum: g.sum, Born: g.at.UnixNano(), Collected: g.collected})
		}
	}
	for name, d := range b.dimensions {
		for _, sc := range d.scope {
			state := ScopeState{Service: sc.labels[0], Environment: sc.labels[1], Folded: sc.folded.Encode()}
			values := slices.SortedFunc(slices.Values(sc.values), func(a, b *dimensionValue) int { return cmp.Compare(a.last, b.last) })
			for _, v := range values {
				state.Values = append(state.Values, v.name)
			}
			s.Dimensions[name] = append(s.Dimensions[name], state)
		}
	}
	return s
}

// Restore fills a new book. On an error the book is of no use any more: what
// was restored before it is in there.
func (b *Book) Restore(s *Snapshot) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.seen.Decode(s.Seen); err != nil {
		return err
	}
	for name, scopes := range s.Dimensions {
		if err := b.restoreDimension(name, scopes); err != nil {
			return fmt.Errorf("dimension %q: %w", name, err)
		}
	}
	for _, f := range b.counterFamilies() {
		width := 1
		if f.byVerdict {
			width = len(verdictPosition)
		}
		for i := range s.Counters[f.name] {
			if err := f.restoreState(&s.Counters[f.name][i], width); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	for _, d := range b.dimensions {
		d.link()
	}
	for _, f := range b.histogramFamilies() {
		for i := range s.Histograms[f.name] {
			f.restoreState(&s.Histograms[f.name][i])
		}
	}
	return nil
}

func (b *Book) restoreDimension(name string, scopes []ScopeState) error {
	d := b.dimension(name)
	if d == nil {
		return fmt.Errorf("not a dimension")
	}
	for _, state := range scopes {
		sc := d.scopeOf(state.Service, state.Environment)
		if sc == nil {
			return fmt.Errorf("more than %d services", maxScopes)
		}
		sc.folded = seen.New(foldedRemembered)
		if err := sc.folded.Decode(state.Folded); err != nil {
			return err
		}
		for hash := range sc.folded.All() {
			sc.wanted.add(hash)
		}
		for _, v := range state.Values {
			sc.events++
			sc.add(v)
			sc.wanted.add(valueHash(v))
		}
	}
	return nil
}

// link tells the restored values which label sets carry them.
func (d *dimension) link() {
	for k, g := range d.sets {
		if g.exposed == nil {
			g.exposed = make([]uint64, len(g.counts))
		}
		if sc := d.scope[[2]string(g.labels[:2])]; sc != nil {
			if v := sc.byName[g.labels[4]]; v != nil {
				v.sets = append(v.sets, k)
			}
		}
	}
}

func (c *counters) restoreState(s *CounterState, width int) error {
	if len(s.Counts) != width || len(s.Exposed) != 0 && len(s.Exposed) != width || len(s.Labels) != c.table.labels {
		return fmt.Errorf("%d labels and %d counts", len(s.Labels), len(s.Counts))
	}
	g := &counter{birth: restored(s.Born, s.Collected), labels: s.Labels, counts: s.Counts, exposed: s.Exposed}
	if len(s.Exposed) == 0 {
		g.exposed = nil
	}
	if s.BadTrace != "" {
		id, err := traceID(s.BadTrace)
		if err != nil {
			return err
		}
		g.bad = exemplar{id, time.Unix(0, s.BadAt)}
	}
	c.restore(s.Labels, g)
	return nil
}

func traceID(s string) (id pcommon.TraceID, err error) {
	if len(s) != 2*len(id) {
		return id, fmt.Errorf("trace id %q", s)
	}
	_, err = hex.Decode(id[:], []byte(s))
	return id, err
}

// restoreState leaves out a histogram with other buckets than this version's:
// it starts again, which readers take for a reset.
func (h *histograms) restoreState(s *HistogramState) {
	if !slices.Equal(s.Bounds, h.bounds) || len(s.Buckets) != len(h.bounds)+1 || len(s.Labels) != h.table.labels {
		return
	}
	h.restore(s.Labels, &histogram{birth: restored(s.Born, s.Collected), labels: s.Labels, buckets: s.Buckets, sum: s.Sum})
}

// spanKey is the span id as a number.
func spanKey(s *summary.Summary) uint64 { return binary.BigEndian.Uint64(s.SpanID[:]) }
