package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/summary"
)

// instance is one agent_sli, shared by the pipelines that name it.
type instance struct {
	id        component.ID
	config    *Config
	logger    *zap.Logger
	telemetry *telemetry
	engine    *Engine

	mu        sync.Mutex
	pipelines []consumer.Traces
	started   bool
	stopped   bool
	storage   storage.Client
	stop      chan struct{}
	ticking   sync.WaitGroup
}

func newInstance(set processor.Settings, config *Config) (*instance, error) {
	files, err := config.load()
	if err != nil {
		return nil, err
	}
	in := &instance{id: set.ID, config: config, logger: set.Logger, stop: make(chan struct{})}
	in.engine = NewEngine(files, EngineOptions{MaxBytes: int64(config.MemoryLimitMiB) << 20}, in.emit)
	in.telemetry, err = newTelemetry(set.TelemetrySettings, in.engine.Stats())
	if err != nil {
		return nil, err
	}
	return in, nil
}

func (in *instance) addPipeline(next consumer.Traces) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pipelines = append(in.pipelines, next)
	return len(in.pipelines) - 1
}

func (in *instance) over() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stopped
}

// start is called by each side; the first call starts the instance.
func (in *instance) start(ctx context.Context, host component.Host) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.started {
		return nil
	}
	if len(in.pipelines) == 0 {
		return fmt.Errorf("%s is in a logs pipeline but in no traces pipeline: its evaluations would meet no runs; name it in a traces pipeline as well", in.id)
	}
	if in.config.Storage != nil {
		if err := in.restore(ctx, host); err != nil {
			return err
		}
	}
	in.started = true
	in.ticking.Add(1)
	go in.tick()
	return nil
}

// tickEvery is how often what is due is looked for: often enough for the
// shortest quiet period that makes sense.
const tickEvery = 200 * time.Millisecond

func (in *instance) tick() {
	defer in.ticking.Done()
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			in.engine.Tick()
		case <-in.stop:
			return
		}
	}
}

// shutdown is called by each traces side; the first call flushes, while every
// pipeline behind is still there.
func (in *instance) shutdown(ctx context.Context) error {
	in.mu.Lock()
	if in.stopped {
		in.mu.Unlock()
		return nil
	}
	in.stopped = true
	started := in.started
	in.mu.Unlock()
	close(in.stop)
	in.ticking.Wait()
	if !started {
		return in.telemetry.shutdown()
	}
	var err error
	if in.storage != nil {
		err = in.save(ctx)
	} else {
		in.engine.Finish(run.Shutdown)
	}
	return errors.Join(err, in.telemetry.shutdown())
}

// emit sends the summary of a judged run to the pipeline that saw it first.
func (in *instance) emit(j Judged, pipeline int) {
	td := ptrace.NewTraces()
	summary.Append(td, j.Summary())
	in.mu.Lock()
	next := in.pipelines[min(pipeline, len(in.pipelines)-1)]
	in.mu.Unlock()
	// The run is over and its spans are gone: there is no sender to tell, and
	// no context but our own.
	if err := next.ConsumeTraces(context.Background(), td); err != nil {
		in.telemetry.summaryFailed()
		in.logger.Error("a run's summary was refused by the next component; its verdicts are lost",
			zap.Stringer("trace_id", j.Run.TraceID), zap.Error(err))
	}
}

// tracesSide is the instance as one traces pipeline sees it.
type tracesSide struct {
	*instance
	pipeline int
	next     consumer.Traces
}

func (t *tracesSide) Start(ctx context.Context, host component.Host) error {
	return t.start(ctx, host)
}

func (t *tracesSide) Shutdown(ctx context.Context) error { return t.shutdown(ctx) }

func (*tracesSide) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// ConsumeTraces reads the spans and hands them on unchanged. Reading comes
// first: a span that the next component refuses is resent, and then known.
func (t *tracesSide) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	t.engine.Consume(td, t.pipeline)
	return t.next.ConsumeTraces(ctx, td)
}

// logsSide is the instance as one logs pipeline sees it.
type logsSide struct {
	*instance
	next consumer.Logs
}

func (l *logsSide) Start(ctx context.Context, host component.Host) error { return l.start(ctx, host) }

// Shutdown leaves flushing to the traces side, which can still send summaries.
func (*logsSide) Shutdown(context.Context) error { return nil }

func (*logsSide) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// ConsumeLogs reads evaluations and hands the records on unchanged.
func (l *logsSide) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	l.engine.ConsumeLogs(ld)
	return l.next.ConsumeLogs(ctx, ld)
}
