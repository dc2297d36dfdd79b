package series

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/agentslo/agentslo/slo"
)

// table holds the label sets of one metric family, up to a limit. Label sets
// beyond it are folded: their most numerous label becomes [slo.OverflowValue],
// then, once a tenth more than the limit is used up by such sets, one label
// after the other. Nothing that is counted is lost, and nothing is evicted.
type table[G any] struct {
	sets    map[string]*G
	labels  int // how many
	limit   int
	folding []int // label indexes in the order in which they give way
	wanted  sketch
	born    func(labels []string, now time.Time) *G
	scratch []byte
}

func newTable[G any](labels, limit int, folding []int, born func([]string, time.Time) *G) table[G] {
	return table[G]{sets: map[string]*G{}, labels: labels, limit: limit, folding: folding, born: born}
}

// at is the label set that counts for those labels, and whether it was born
// just now.
func (t *table[G]) at(now time.Time, labels ...string) (g *G, isNew bool) {
	t.scratch = appendKey(t.scratch[:0], labels)
	if g, ok := t.sets[string(t.scratch)]; ok {
		return g, false
	}
	t.wanted.add(xxhash.Sum64(t.scratch))
	if len(t.sets) < t.limit {
		return t.add(now, slices.Clone(labels)), true
	}
	folded := slices.Clone(labels)
	for n, i := range t.folding {
		folded[i] = slo.OverflowValue
		t.scratch = appendKey(t.scratch[:0], folded)
		if g, ok := t.sets[string(t.scratch)]; ok {
			return g, false
		}
		if len(t.sets) < t.limit+t.limit/10 || n == len(t.folding)-1 {
			break
		}
	}
	return t.add(now, folded), true
}

func (t *table[G]) add(now time.Time, labels []string) *G {
	g := t.born(labels, now)
	t.sets[key(labels)] = g
	return g
}

// restore puts back a label set of an earlier process.
func (t *table[G]) restore(labels []string, g *G) {
	k := key(labels)
	t.wanted.add(xxhash.Sum64String(k))
	t.sets[k] = g
}

func key(labels []string) string { return string(appendKey(nil, labels)) }

// appendKey appends a key that no other label values have.
func appendKey(buf []byte, labels []string) []byte {
	for _, l := range labels {
		buf = binary.AppendUvarint(buf, uint64(len(l)))
		buf = append(buf, l...)
	}
	return buf
}
