package processor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/goleak"

	"github.com/agentslo/agentslo/processor/internal/metadata"
	"github.com/agentslo/agentslo/processor/summary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testConfig(t *testing.T) *Config {
	t.Helper()
	c := createDefaultConfig().(*Config)
	c.set = parseFiles(t, strings.Replace(everyKind, "quiet_period: 5s", "quiet_period: 300ms", 1))
	return c
}

// sink collects summaries and other spans apart.
type sink struct {
	mu        sync.Mutex
	summaries []*summary.Summary
	spans     int
}

// runs is how many runs were counted, each by its first summary.
func (s *sink) runs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, x := range s.summaries {
		if x.First {
			n++
		}
	}
	return n
}

func (s *sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range td.ResourceSpans().Len() {
		for j := range td.ResourceSpans().At(i).ScopeSpans().Len() {
			ss := td.ResourceSpans().At(i).ScopeSpans().At(j)
			if !summary.Is(ss.Scope()) {
				s.spans += ss.Spans().Len()
				continue
			}
			for k := range ss.Spans().Len() {
				x, err := summary.Parse(ss.Spans().At(k))
				if err != nil {
					return err
				}
				s.summaries = append(s.summaries, x)
			}
		}
	}
	return nil
}

func (s *sink) count() (summaries, spans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.summaries), s.spans
}

func TestConfig(t *testing.T) {
	if err := componenttest.CheckConfigStruct(createDefaultConfig()); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no file", func(*Config) {}, "files: name at least one SLO file"},
		{"no such file", func(c *Config) { c.Files = []string{"nowhere.yaml"} }, "nowhere.yaml"},
		{"no memory", func(c *Config) { c.Files, c.MemoryLimitMiB = []string{"x"}, 0 }, "memory_limit_mib: must be above 0"},
	} {
		c := createDefaultConfig().(*Config)
		x.change(c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", x.name, err, x.want)
		}
	}
}

func TestShutdownWithoutStart(t *testing.T) {
	p, err := NewFactory().CreateTraces(context.Background(), processortest.NewNopSettings(metadata.Type), testConfig(t), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestLogsPipelineNeedsATracesPipeline(t *testing.T) {
	p, err := NewFactory().CreateLogs(context.Background(), processortest.NewNopSettings(metadata.Type), testConfig(t), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(context.Background(), componenttest.NewNopHost()); err == nil || !strings.Contains(err.Error(), "traces pipeline") {
		t.Errorf("got %v, want an error that names the traces pipeline", err)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// Spans pass through at once and unchanged; the summary comes when the run is
// over, and evaluations in log records of the same component id meet the run.
func TestTracesAndLogsShareOneInstance(t *testing.T) {
	f, config := NewFactory(), testConfig(t)
	set := processortest.NewNopSettings(metadata.Type)
	var out sink
	traces1, err := f.CreateTraces(context.Background(), set, config, &out)
	if err != nil {
		t.Fatal(err)
	}
	var other sink
	traces2, err := f.CreateTraces(context.Background(), set, config, &other)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := f.CreateLogs(context.Background(), set, config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []component.Component{logs, traces1, traces2} {
		if err := c.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}

	s := traffic(time.Now())[0]
	in := traces(s.spans()...)
	want := ptrace.NewTraces()
	in.CopyTo(want)
	in.MarkReadOnly()
	if err := traces1.ConsumeTraces(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if err := traces2.ConsumeTraces(context.Background(), in); err != nil { // the same spans by another way
		t.Fatal(err)
	}
	if _, n := out.count(); n != want.SpanCount() {
		t.Fatalf("%d spans passed, want %d", n, want.SpanCount())
	}
	ld := evaluation(s.traceID(), s.spanID(0), "correctness", 0.9)
	ld.MarkReadOnly()
	if err := logs.ConsumeLogs(context.Background(), ld); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for n := 0; n == 0 && time.Now().Before(deadline); n, _ = out.count() {
		time.Sleep(20 * time.Millisecond)
	}
	for _, c := range []component.Component{logs, traces1, traces2} {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := out.count(); n != 1 {
		t.Fatalf("%d summaries, want 1", n)
	}
	if n, _ := other.count(); n != 0 {
		t.Error("a summary left by the pipeline that did not see the run first")
	}
	if x := out.summaries[0]; x.Results[1].Verdict.String() != "good" || x.Results[1].SLO != "correctness" || !x.First {
		t.Errorf("got %+v", x)
	}
}

// Without storage, what is open is released at shutdown, not lost.
func TestShutdownFlushes(t *testing.T) {
	f, config := NewFactory(), testConfig(t)
	var out sink
	p, err := f.CreateTraces(context.Background(), processortest.NewNopSettings(metadata.Type), config, &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	for _, s := range traffic(time.Now()) {
		if err := p.ConsumeTraces(context.Background(), traces(s.spans()...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := out.runs(); n != 6 {
		t.Errorf("%d runs, want 6", n)
	}
}

// A next component that refuses makes the sender try again; the resend must
// not count twice.
func TestRefusedSpansAreNotCountedTwice(t *testing.T) {
	f, config := NewFactory(), testConfig(t)
	var out sink
	refuse := true
	next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		if refuse {
			return errors.New("full")
		}
		return out.ConsumeTraces(ctx, td)
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.CreateTraces(context.Background(), processortest.NewNopSettings(metadata.Type), config, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	td := traces(traffic(time.Now())[1].spans()...)
	if err := p.ConsumeTraces(context.Background(), td); err == nil {
		t.Error("the refusal did not reach the sender")
	}
	refuse = false
	if err := p.ConsumeTraces(context.Background(), td); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := out.runs(); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

// Many senders at once, while runs complete: for the race detector, and every
// run is counted once.
func TestConcurrentSenders(t *testing.T) {
	f, config := NewFactory(), testConfig(t)
	var out sink
	p, err := f.CreateTraces(context.Background(), processortest.NewNopSettings(metadata.Type), config, &out)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := f.CreateLogs(context.Background(), processortest.NewNopSettings(metadata.Type), config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			for k := range 25 {
				s := script{trace: byte(25*i + k + 1), start: time.Now(), root: true, answer: true, calls: []toolCall{{"t", `{}`, `1`, ""}}}
				for _, span := range s.spans() {
					_ = p.ConsumeTraces(context.Background(), traces(span, span))
				}
				_ = logs.ConsumeLogs(context.Background(), evaluation(s.traceID(), s.spanID(0), "correctness", 1))
			}
		})
	}
	senders.Wait()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, s := range out.summaries {
		for _, r := range s.Results {
			if r.SLO == "correctness" {
				judged++
			}
		}
	}
	if n := out.runs(); n != 200 || judged != 200 {
		t.Errorf("%d runs, %d judged; want 200, 200", n, judged)
	}
}
