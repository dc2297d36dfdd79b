package series

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/agentslo/agentslo/exporter/internal/seen"
	"github.com/agentslo/agentslo/slo"
)

// dimension is the extra counter family of one dimension. Of each service and
// environment it keeps the newest values, those whose last event is the most
// recent: old versions give way, and a tenant that is busy does not. The others
// are folded into [slo.OverflowValue].
//
// Readers add up differences of counters, so folding must not show them an
// event twice: the overflow series takes over only what no scraper saw yet of
// the folded series, and what comes later. Added up over all series and over
// time, every event is seen exactly once.
type dimension struct {
	*counters
	keep  func(service, environment string) int
	scope map[[2]string]*scope // by service and environment
}

// scope is the values of one service and environment.
type scope struct {
	labels [2]string
	values []*dimensionValue // in no order
	byName map[string]*dimensionValue
	events uint64    // so far
	folded *seen.Set // hashes of values that were folded; they do not come back
	wanted sketch
}

type dimensionValue struct {
	name string
	last uint64   // its last event, by scope.events
	sets []string // keys of the label sets that carry it
}

const (
	foldedRemembered = 1 << 16 // values of a scope; beyond it an old one may be taken for new again
	maxScopes        = 1000    // services and environments; values of further ones overflow
	defaultKeep      = 20      // of a dimension that no file of this exporter names
)

func newDimension(name string, limit int, keep func(service, environment string) int) *dimension {
	labels := []string{"slo_service", "environment", "agent", "slo", name}
	c := newCounters("agentslo_events_by_"+name+"_total", "Verdicts on runs by "+name+".", limit, true, labels,
		[]string{"agent", "environment", "slo_service", "slo", name})
	return &dimension{counters: c, keep: keep, scope: map[[2]string]*scope{}}
}

// at is the label set that counts for those labels and that value.
func (d *dimension) at(now time.Time, service, environment, agent, objective, value string) *counter {
	v := d.value(now, service, environment, value)
	label := slo.OverflowValue
	if v != nil {
		label = v.name
	} else if value == "" {
		label = "" // runs without a value are no value that could crowd others out
	}
	g, isNew := d.counters.at(now, service, environment, agent, objective, label)
	if isNew {
		g.exposed = make([]uint64, len(g.counts))
		if v != nil && g.labels[4] == v.name {
			v.sets = append(v.sets, key(g.labels))
		}
	}
	return g
}

// value is the value that is kept, or nil for one that is not.
func (d *dimension) value(now time.Time, service, environment, name string) *dimensionValue {
	if name == "" || name == slo.OverflowValue {
		return nil
	}
	s := d.scopeOf(service, environment)
	if s == nil {
		return nil
	}
	s.events++
	if v, ok := s.byName[name]; ok {
		v.last = s.events
		return v
	}
	hash := valueHash(name)
	s.wanted.add(hash)
	if s.folded.Has(hash) {
		return nil
	}
	v := s.add(name)
	for len(s.values) > max(d.keep(service, environment), 1) {
		d.fold(now, s)
	}
	return v
}

func (d *dimension) scopeOf(service, environment string) *scope {
	k := [2]string{service, environment}
	s, ok := d.scope[k]
	if !ok && len(d.scope) < maxScopes {
		s = &scope{labels: k, byName: map[string]*dimensionValue{}, folded: seen.New(foldedRemembered)}
		d.scope[k] = s
	}
	return s
}

func (s *scope) add(name string) *dimensionValue {
	v := &dimensionValue{name: name, last: s.events}
	s.values = append(s.values, v)
	s.byName[name] = v
	return v
}

// fold folds the value of a scope that had no event for the longest time.
func (d *dimension) fold(now time.Time, s *scope) {
	at := 0
	for i, v := range s.values {
		if v.last < s.values[at].last {
			at = i
		}
	}
	oldest := s.values[at]
	s.values = slices.Delete(s.values, at, at+1)
	delete(s.byName, oldest.name)
	s.folded.Add(valueHash(oldest.name))
	for _, k := range oldest.sets {
		from, ok := d.sets[k]
		if !ok {
			continue
		}
		delete(d.sets, k)
		to := d.at(now, from.labels[0], from.labels[1], from.labels[2], from.labels[3], slo.OverflowValue)
		for i, n := range from.counts {
			to.counts[i] += n - from.exposed[i]
		}
		if from.bad.at.After(to.bad.at) {
			to.bad = from.bad
		}
	}
}

func valueHash(name string) uint64 { return xxhash.Sum64String(name) }
