// Package engine is the embedded Prometheus: its time series database, query
// engine and rule manager, and a collection loop that takes the place of a
// scrape. It knows no SLO, no Collector and no HTTP. It is the only package
// that wires Prometheus server packages, whose Go API is not stable.
package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/compression"
)

// Options configure an [Engine].
type Options struct {
	// Directory holds the time series database. It is created if missing. The
	// caller sees to it that no other process has it open.
	Directory string
	// Retention is how long samples are kept at least. It must be longer than
	// the longest range that a query looks back.
	Retention time.Duration
	// ScrapeInterval is the time between two collections; default 5s.
	ScrapeInterval time.Duration
	// EvalInterval is the time between two evaluations of rule groups that name
	// no interval of their own, and the step of subqueries without one; default 15s.
	EvalInterval time.Duration
	// Logger takes what the database and the rule manager say; default: nothing.
	Logger *slog.Logger
	// Registerer takes the engine's own metrics (prometheus_tsdb_…); may be nil.
	Registerer prometheus.Registerer
}

// Engine stores samples, answers queries and evaluates rules. It is safe for
// concurrent use.
type Engine struct {
	options Options
	db      *tsdb.DB
	queries *promql.Engine
	parser  parser.Parser
	collect *collection
	rules   atomic.Pointer[ruleset]
}

// Lookback is how far back an instant query looks for the last sample of a
// series, as in a Prometheus server with default flags.
const Lookback = 5 * time.Minute

// Open opens or creates the database. A damaged write-ahead log is repaired up to its first bad record, which the
// logger tells.
func Open(options Options) (*Engine, error) {
	if options.ScrapeInterval <= 0 {
		options.ScrapeInterval = 5 * time.Second
	}
	if options.EvalInterval <= 0 {
		options.EvalInterval = 15 * time.Second
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	storage := tsdb.DefaultOptions()
	storage.RetentionDuration = options.Retention.Milliseconds()
	// The server's own choice: blocks grow to a tenth of the retention.
	storage.MaxBlockDuration = max(storage.MinBlockDuration, min(options.Retention/10, 31*24*time.Hour).Milliseconds())
	storage.WALCompression = compression.Snappy
	storage.EnableExemplarStorage = true
	storage.MaxExemplars = 10_000
	storage.NoLockfile = true
	// The zero sample of a newborn series is appended by the collection itself:
	// the database would drop one that is older than its append window.
	db, err := tsdb.Open(options.Directory, options.Logger, options.Registerer, storage, nil)
	if err != nil {
		return nil, fmt.Errorf("time series database in %s: %w", filepath.Clean(options.Directory), err)
	}
	e := &Engine{options: options, db: db, parser: parser.NewParser(parser.Options{})}
	e.queries = promql.NewEngine(promql.EngineOpts{
		Logger:                   options.Logger,
		Reg:                      options.Registerer,
		MaxSamples:               50_000_000,
		Timeout:                  2 * time.Minute,
		LookbackDelta:            Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return options.EvalInterval.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   e.parser,
	})
	e.collect = newCollection(db, options.EvalInterval, options.Logger)
	if ahead := time.Until(time.UnixMilli(db.Head().MaxTime())); db.Head().NumSeries() > 0 && ahead > time.Minute {
		options.Logger.Warn("the newest stored sample lies in the future: was the clock wrong? Until it is reached, new samples are stored just after it and alerts do not see them",
			"ahead", ahead.Round(time.Second))
	}
	return e, nil
}

// DB is the database: the queryable, exemplar queryable and appendable.
func (e *Engine) DB() *tsdb.DB { return e.db }

// Queries is the query engine. Its limits are those of a Prometheus server
// with default flags: 50 million samples, 2 minutes.
func (e *Engine) Queries() *promql.Engine { return e.queries }

// Parser parses expressions as the query engine does.
func (e *Engine) Parser() parser.Parser { return e.parser }

// Close stops rules and collection, if they run, and closes the database.
func (e *Engine) Close() error {
	e.StopRules()
	e.collect.stop()
	return errors.Join(e.queries.Close(), e.db.Close())
}
