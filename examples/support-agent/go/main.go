// Command go is a small support agent, instrumented with the OpenTelemetry Go
// SDK after the GenAI semantic conventions. It answers questions about orders
// with tools and a model. The model is a scripted server inside the process
// that speaks OpenAI's chat completions, so the agent runs without a network,
// while the loop, the tools, the spans and their export are the real thing.
//
//	go run ./examples/support-agent/go -script ok:17,tool_free:1,loop:1,tool_failed:1
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "support-agent:", err)
		os.Exit(2)
	}
}

type options struct {
	script, hold  string
	runs          int
	rate          float64
	holdFor, slow time.Duration
	telemetry     telemetryOptions
	agent, model  string
	content       bool
	evaluations   string
	truth         string
	tenant        string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("support-agent", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.script, "script", "ok:1", "scenarios to run and how often, in order: "+strings.Join(scenarioNames(), ", "))
	f.IntVar(&o.runs, "runs", 0, "number of runs; the script repeats or is cut to reach it (0: the script once)")
	f.Float64Var(&o.rate, "rate", 0, "runs started per second, without waiting for the one before (0: one after the other)")
	f.StringVar(&o.hold, "hold", "", "after the script, runs left open: a number, or scenarios as in -script; their last step waits for -hold-for or an interrupt")
	f.DurationVar(&o.holdFor, "hold-for", 0, "how long held runs stay open (0: until interrupted)")
	f.DurationVar(&o.slow, "slow", 2*time.Second, "how long the tool takes in scenario slow")
	f.StringVar(&o.telemetry.endpoint, "endpoint", "http://localhost:4318", "OTLP endpoint: http://host:port or grpc://host:port")
	f.StringVar(&o.telemetry.service, "service", "support-agent", "service.name")
	f.StringVar(&o.telemetry.version, "version", "1.4.0", "service.version")
	f.StringVar(&o.telemetry.environment, "environment", "", "deployment.environment.name")
	f.StringVar(&o.agent, "agent", "support-agent", "gen_ai.agent.name")
	f.StringVar(&o.model, "model", "gpt-5", "model that the agent asks for")
	f.BoolVar(&o.content, "content", true, "record messages, tool arguments and results")
	f.StringVar(&o.evaluations, "evaluations", "events", "evaluator results as span events, as log records after the run, or none: events | logs | none")
	f.StringVar(&o.tenant, "tenant", "", "app.tenant of the runs")
	f.StringVar(&o.truth, "truth", "", "file for what the model server and the tools saw, a JSON object a run (-: stdout)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	switch o.evaluations {
	case "events", "logs", "none":
	default:
		return nil, fmt.Errorf("-evaluations %q: want events, logs or none", o.evaluations)
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	script, err := parseScript(o.script)
	if err != nil {
		return fmt.Errorf("-script: %w", err)
	}
	held, err := parseScript(o.hold)
	if err != nil {
		return fmt.Errorf("-hold: %w", err)
	}
	if o.runs > 0 && len(script) == 0 {
		return errors.New("-runs with an empty -script")
	}
	if o.runs > 0 {
		for one := script; len(script) < o.runs; {
			script = append(script, one...)
		}
		script = script[:o.runs]
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	telemetry, err := startTelemetry(ctx, o.telemetry, o.evaluations == "logs")
	if err != nil {
		return err
	}
	server, err := startModel(o.slow)
	if err != nil {
		return err
	}
	defer server.Close()
	truth, err := openTruth(o.truth, stdout)
	if err != nil {
		return err
	}
	defer truth.Close()

	a := &agent{name: o.agent, model: o.model, content: o.content, evaluations: o.evaluations, tenant: o.tenant,
		server: server, telemetry: telemetry, tracer: telemetry.tracer()}
	runAll(ctx, a, script, o.rate, truth)
	if len(held) > 0 {
		holdRuns(ctx, a, held, o.holdFor, truth, stderr)
	}

	// The context may be done: what was measured is still sent.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := telemetry.shutdown(flush); err != nil {
		return fmt.Errorf("sending to %s: %w", o.telemetry.endpoint, err)
	}
	fmt.Fprintf(stderr, "support-agent: %d runs sent to %s\n", truth.count, o.telemetry.endpoint)
	return nil
}

// runAll runs the script, one run after the other or at a rate.
func runAll(ctx context.Context, a *agent, script []scenario, rate float64, truth *truthFile) {
	if rate <= 0 {
		for _, s := range script {
			if ctx.Err() != nil {
				return
			}
			truth.write(a.run(context.Background(), s, nil))
		}
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for i, s := range script {
		if i > 0 {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		running.Go(func() { truth.write(a.run(context.Background(), s, nil)) })
	}
}

// holdRuns starts runs whose last step waits: their finished spans are sent,
// their roots are open.
func holdRuns(ctx context.Context, a *agent, script []scenario, d time.Duration, truth *truthFile, stderr io.Writer) {
	release := make(chan struct{})
	var running, waiting sync.WaitGroup
	for _, s := range script {
		waiting.Add(1)
		hold := sync.OnceFunc(func() {
			waiting.Done()
			<-release
		})
		running.Go(func() {
			defer hold() // a run without a last step must not leave the others waiting
			truth.write(a.run(context.Background(), s, hold))
		})
	}
	waiting.Wait()
	flush, cancel := context.WithTimeout(ctx, 10*time.Second)
	err := a.telemetry.flush(flush)
	cancel()
	fmt.Fprintf(stderr, "support-agent: holding %d open runs\n", len(script))
	if err != nil {
		fmt.Fprintln(stderr, "support-agent:", err)
	}
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	select {
	case <-ctx.Done():
	case <-timeout:
	}
	close(release)
	running.Wait()
}

// truth is what really happened in a run, as the model server and the tools
// saw it, independent of the telemetry.
type truth struct {
	Scenario   string         `json:"scenario"`
	TraceID    trace.TraceID  `json:"trace_id"`
	Agent      string         `json:"agent"`
	Outcome    string         `json:"outcome"`
	ModelCalls int            `json:"model_calls"` // that reached the server, failed ones included
	ToolCalls  toolCounts     `json:"tool_calls"`
	Tokens     tokens         `json:"tokens"`
	Scores     map[string]any `json:"evaluations,omitempty"`
	Answer     string         `json:"answer,omitempty"`
}

type toolCounts struct {
	OK     int            `json:"ok"`
	Failed map[string]int `json:"failed"` // by failure class
}

type tokens struct {
	Input       int `json:"input"` // cached input included
	CachedInput int `json:"cached_input"`
	Output      int `json:"output"` // reasoning included
	Reasoning   int `json:"reasoning"`
}

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.CachedInput += u.CachedInput
	t.Output += u.Output
	t.Reasoning += u.Reasoning
}

type truthFile struct {
	mu    sync.Mutex
	w     io.WriteCloser
	count int
}

func openTruth(path string, stdout io.Writer) (*truthFile, error) {
	switch path {
	case "":
		return &truthFile{w: nopCloser{io.Discard}}, nil
	case "-":
		return &truthFile{w: nopCloser{stdout}}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &truthFile{w: f}, nil
}

func (f *truthFile) write(t truth) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if err := json.NewEncoder(f.w).Encode(t); err != nil {
		fmt.Fprintln(os.Stderr, "support-agent:", err)
	}
}

func (f *truthFile) Close() error { return f.w.Close() }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
