package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Job and Instance are the values of the labels that a scrape would have
// added. They are the same on every start, so that a restart goes on with the
// series of the run before.
const (
	Job      = "agentslo"
	Instance = "standalone"
)

// collection copies the state of gatherers into the database, with the clock
// of this process and never with a time from telemetry: one sample from the
// future would shut out every later one.
type collection struct {
	db     storage.AppendableV2
	logger *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	series   map[string]*series
	metadata map[string]metadata.Metadata
	// born is when the collection began: a series created since and not seen
	// before began at zero in this process; an older one was restored.
	born    time.Time
	hold    time.Duration // how long a series that was killed and born again shows 0
	last    int64         // timestamp of the last collection in milliseconds; 0: none yet
	round   uint64
	scratch labels.ScratchBuilder
	failing bool // the last commit failed; said once
}

type series struct {
	ref     storage.SeriesRef
	labels  labels.Labels
	created int64     // milliseconds; 0: not known or not a counter
	held    time.Time // until then it shows 0
	round   uint64    // of the collection that saw it last
	began   uint64    // of the collection that saw it first, or reset
}

func newCollection(db *tsdb.DB, evalInterval time.Duration, logger *slog.Logger) *collection {
	c := &collection{
		db: db, logger: logger, born: time.Now(), hold: 2 * evalInterval,
		series: map[string]*series{}, metadata: map[string]metadata.Metadata{},
	}
	if db.Head().NumSeries() > 0 {
		c.last = db.Head().MaxTime()
	}
	return c
}

// Collect gathers once and stores the samples. A series that was born in this
// process gets a zero sample before its first value, so that its first events
// are an increase; a restored one goes on. It returns what could not be
// gathered or stored; what could is stored.
func (e *Engine) Collect(ctx context.Context, gatherer prometheus.Gatherer) error {
	return e.collect.once(ctx, gatherer)
}

// StartCollecting collects at once and then every scrape interval, until Close
// or StopCollecting.
func (e *Engine) StartCollecting(gatherer prometheus.Gatherer) {
	ctx, cancel := context.WithCancel(context.Background())
	c := e.collect
	c.cancel, c.done = cancel, make(chan struct{})
	go func() {
		defer close(c.done)
		ticker := time.NewTicker(e.options.ScrapeInterval)
		defer ticker.Stop()
		for {
			if err := c.once(ctx, gatherer); err != nil && ctx.Err() == nil {
				c.logger.Warn("collection incomplete", "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
}

// StopCollecting ends the loop of StartCollecting. Collect may still be called.
func (e *Engine) StopCollecting() { e.collect.stop() }

func (c *collection) stop() {
	if c.cancel != nil {
		c.cancel()
		<-c.done
		c.cancel = nil
	}
}

// Metadata returns type, help and unit of every metric family collected so far.
func (e *Engine) Metadata() map[string]metadata.Metadata {
	e.collect.mu.Lock()
	defer e.collect.mu.Unlock()
	copied := make(map[string]metadata.Metadata, len(e.collect.metadata))
	for name, m := range e.collect.metadata {
		copied[name] = m
	}
	return copied
}

func (c *collection) once(ctx context.Context, gatherer prometheus.Gatherer) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	start := time.Now()
	if start.Before(c.born) {
		c.born = start // the clock was set back
	}
	// The clock may be set back; time in the database only goes forward.
	at := max(start.UnixMilli(), c.last+1)
	families, gatherErr := gatherer.Gather()

	app := c.db.AppenderV2(ctx)
	b := batch{c: c, app: app, now: start, at: at, errs: gatherErr}
	c.round++
	for _, family := range families {
		c.metadata[family.GetName()] = familyMetadata(family)
		familySamples(family, b.add)
	}
	appended := b.appended
	up := 1.0
	if gatherErr != nil {
		up = 0
	}
	b.add(sample{name: "up", value: up})
	b.add(sample{name: "scrape_duration_seconds", value: time.Since(start).Seconds()})
	b.add(sample{name: "scrape_samples_scraped", value: float64(appended)})
	b.markStale()

	if err := app.Commit(); err != nil {
		// Nothing is lost: the counters go on and the next commit carries them.
		c.forget()
		if !c.failing {
			c.logger.Error("cannot store samples; counting goes on in memory", "err", err)
		}
		c.failing = true
		return errors.Join(b.errs, fmt.Errorf("store samples: %w", err))
	}
	c.failing = false
	c.last = at
	return b.errs
}

// forget undoes a collection that was not stored: references may name series
// that do not exist, and what began in it begins again.
func (c *collection) forget() {
	for key, entry := range c.series {
		entry.ref = 0
		if entry.began == c.round {
			delete(c.series, key)
		}
	}
}

// batch is one collection under way.
type batch struct {
	c        *collection
	app      storage.AppenderV2
	now      time.Time
	at       int64 // timestamp of its samples
	appended int
	errs     error
	failed   int
	key      []byte
}

func (b *batch) add(s sample) {
	entry, newborn := b.find(&s)
	if newborn {
		b.begin(entry)
	}
	if entry.held.After(b.now) {
		s.value, s.exemplar = 0, nil
	}
	var options storage.AOptions
	if s.exemplar != nil {
		options.Exemplars = []exemplar.Exemplar{*s.exemplar}
		options.Exemplars[0].Ts = min(s.exemplar.Ts, b.at)
	}
	ref, err := b.app.Append(entry.ref, entry.labels, 0, b.at, s.value, nil, nil, options)
	// A partial error says that an exemplar, but not the sample, was refused.
	if partial := (*storage.AppendPartialError)(nil); err != nil && !errors.As(err, &partial) {
		b.fail(entry.labels, err)
		return
	}
	entry.ref = ref
	b.appended++
}

// zeroLead is how long before its first value a newborn series gets its zero.
// Before its birth it had counted nothing, so any time is right; a minute and
// a bit lets rules that look at whole minutes see it.
const zeroLead = 65 * time.Second

// begin makes the increase of a newborn series from nothing plain to see.
func (b *batch) begin(entry *series) {
	if b.known(entry) {
		// It lived before, in a process that was killed. Rules look now and then:
		// they must meet it at 0, for it may have passed its old value already.
		entry.held = b.now.Add(b.c.hold)
		return
	}
	ref, err := b.app.Append(0, entry.labels, 0, b.at-zeroLead.Milliseconds(), 0, nil, nil, storage.AOptions{})
	if errors.Is(err, storage.ErrOutOfBounds) { // the database has been tidied up since
		ref, err = b.app.Append(0, entry.labels, 0, b.at-1, 0, nil, nil, storage.AOptions{})
	}
	if err != nil {
		b.fail(entry.labels, err)
		return
	}
	entry.ref = ref
}

// known says whether the database has samples of the series.
func (b *batch) known(entry *series) bool {
	if entry.ref != 0 {
		return true
	}
	getter, ok := b.app.(storage.GetRef)
	if !ok {
		return false
	}
	ref, _ := getter.GetRef(entry.labels, entry.labels.Hash())
	return ref != 0
}

// find returns the sample's series and whether it began at zero since the
// previous collection.
func (b *batch) find(s *sample) (*series, bool) {
	b.key = s.appendKey(b.key[:0])
	entry, known := b.c.series[string(b.key)]
	if !known {
		entry = &series{labels: s.labels(&b.c.scratch), began: b.c.round}
		b.c.series[string(b.key)] = entry
	}
	entry.round = b.c.round
	if s.created != entry.created {
		entry.began = b.c.round
	}
	newborn := s.created != 0 && s.created >= b.c.born.UnixMilli() && s.created != entry.created
	entry.created = s.created
	return entry, newborn
}

// markStale ends the series that were there in the previous collection only.
func (b *batch) markStale() {
	for key, entry := range b.c.series {
		if entry.round != b.c.round {
			_, _ = b.app.Append(entry.ref, entry.labels, 0, b.at, math.Float64frombits(value.StaleNaN), nil, nil, storage.AOptions{})
			delete(b.c.series, key)
		}
	}
}

// fail keeps the first few errors: a thousand series fail for the same reason.
func (b *batch) fail(l labels.Labels, err error) {
	if b.failed++; b.failed <= 3 {
		b.errs = errors.Join(b.errs, fmt.Errorf("%s: %w", l, err))
	}
}
