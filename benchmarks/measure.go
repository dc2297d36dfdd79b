package main

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/internal/agenttrace"
)

// spansPerRequest is what an SDK's batch processor sends at most by default.
const spansPerRequest = 512

// input is the same export requests for every subject, as they come off the wire.
type input struct {
	whole [][]byte // runs that end
	open  [][]byte // the same without the roots: runs that stay open
	runs  int
	spans int // in whole
	bytes int // of whole
}

func newInput(runs int) (*input, error) {
	in := &input{runs: runs}
	marshaler := ptrace.ProtoMarshaler{}
	for _, request := range agenttrace.Requests(0, runs, spansPerRequest) {
		data, err := marshaler.MarshalTraces(request)
		if err != nil {
			return nil, err
		}
		in.whole = append(in.whole, data)
		in.spans += request.SpanCount()
		in.bytes += len(data)
		for _, rs := range request.ResourceSpans().All() {
			rs.ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return s.ParentSpanID().IsEmpty() })
		}
		if data, err = marshaler.MarshalTraces(request); err != nil {
			return nil, err
		}
		in.open = append(in.open, data)
	}
	return in, nil
}

func unmarshal(requests [][]byte) ([]ptrace.Traces, error) {
	unmarshaler := ptrace.ProtoUnmarshaler{}
	traces := make([]ptrace.Traces, len(requests))
	for i, data := range requests {
		var err error
		if traces[i], err = unmarshaler.UnmarshalTraces(data); err != nil {
			return nil, err
		}
	}
	return traces, nil
}

// result of one subject, per span of input: processor time of all threads,
// collection of garbage included, and what was allocated. heap is per open run,
// -1 where nothing is kept.
type result struct {
	name                            string
	nanoseconds, bytes, allocations float64
	heap                            float64
}

func measure(s subject, in *input, rounds int) (result, error) {
	best := result{name: s.name, heap: -1}
	for round := range rounds {
		r, err := once(s, in)
		if err != nil {
			return best, err
		}
		if round == 0 || r.nanoseconds < best.nanoseconds {
			r.name, r.heap = s.name, best.heap
			best = r
		}
	}
	if s.keeps {
		heap, err := openRuns(s, in)
		if err != nil {
			return best, err
		}
		best.heap = heap
	}
	return best, nil
}

// once takes all runs from their first span to what follows their completion:
// the shutdown completes every run that still waits.
func once(s subject, in *input) (result, error) {
	if s.open == nil {
		start := snapshot()
		if _, err := unmarshal(in.whole); err != nil {
			return result{}, err
		}
		return start.since(in.spans), nil
	}
	requests, err := unmarshal(in.whole)
	if err != nil {
		return result{}, err
	}
	next, err := newSink()
	if err != nil {
		return result{}, err
	}
	component, err := start(s, next)
	if err != nil {
		return result{}, err
	}
	before := snapshot()
	for _, request := range requests {
		if err := component.ConsumeTraces(context.Background(), request); err != nil {
			return result{}, err
		}
	}
	if s.patient {
		if err := next.wait(in.spans); err != nil {
			return result{}, err
		}
	}
	if err := component.Shutdown(context.Background()); err != nil {
		return result{}, err
	}
	return before.since(in.spans), nil
}

// openRuns is the heap that one open run holds, in bytes: what is live with
// every run open, less what was before, over the number of runs.
func openRuns(s subject, in *input) (float64, error) {
	next, err := newSink()
	if err != nil {
		return 0, err
	}
	component, err := start(s, next)
	if err != nil {
		return 0, err
	}
	before := live()
	requests, err := unmarshal(in.open)
	if err != nil {
		return 0, err
	}
	for i, request := range requests {
		if err := component.ConsumeTraces(context.Background(), request); err != nil {
			return 0, err
		}
		requests[i] = ptrace.Traces{}
	}
	time.Sleep(300 * time.Millisecond) // for subjects with a queue before their state
	held := live() - before
	runtime.KeepAlive(component)
	return held / float64(in.runs), component.Shutdown(context.Background())
}

func start(s subject, next consumer.Traces) (target, error) {
	component, err := s.open(next)
	if err != nil {
		return nil, err
	}
	return component, component.Start(context.Background(), host)
}

func live() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// point is the process's use of time and memory so far.
type point struct {
	cpu time.Duration
	mem runtime.MemStats
}

func snapshot() *point {
	runtime.GC()
	p := &point{}
	runtime.ReadMemStats(&p.mem)
	p.cpu = processorTime()
	return p
}

func (p *point) since(spans int) result {
	cpu := processorTime() - p.cpu
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	n := float64(spans)
	return result{
		nanoseconds: float64(cpu.Nanoseconds()) / n,
		bytes:       float64(now.TotalAlloc-p.mem.TotalAlloc) / n,
		allocations: float64(now.Mallocs-p.mem.Mallocs) / n,
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
