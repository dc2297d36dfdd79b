// Command genkit-go is an order agent on Google's Genkit for Go with its own
// spans. It runs the scenario of the environment once and prints what the
// application saw of it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/openai/openai-go/option"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var (
	world    = os.Getenv("WORLD")
	scenario struct {
		Name       string             `json:"name"`
		Question   string             `json:"question"`
		Stream     bool               `json:"stream"`
		AbortAfter int                `json:"abort_after"`
		MaxSteps   int                `json:"max_steps"`
		Scores     map[string]float64 `json:"scores"`
	}
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := json.Unmarshal([]byte(os.Getenv("SCENARIO")), &scenario); err != nil {
		return fmt.Errorf("SCENARIO: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	first := &firstTrace{}
	spans := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "order-support"))),
		sdktrace.WithSpanProcessor(first), sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(spans)

	g := genkit.Init(ctx, genkit.WithDefaultModel("openai/gpt-4o-mini"),
		genkit.WithPlugins(&openai.OpenAI{APIKey: "unused", Opts: []option.RequestOption{option.WithBaseURL(world + "/v1")}}))
	report := ask(ctx, agent(g))
	time.Sleep(200 * time.Millisecond)
	if err := spans.ForceFlush(ctx); err != nil {
		return err
	}
	if scenario.Scores != nil {
		time.Sleep(1500 * time.Millisecond)
		if err := evaluate(ctx, g, first.id, report.Answer); err != nil {
			return err
		}
	}
	if err := spans.Shutdown(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// report is what the application saw of the run.
type report struct {
	Label  string `json:"label"`
	Answer string `json:"answer"`
	Threw  bool   `json:"threw"`
	Error  string `json:"error,omitempty"`
	Millis int64  `json:"ms"`
}

// ask runs the flow as its caller, who may leave in the middle of the answer.
func ask(ctx context.Context, flow *core.Flow[string, string, string]) report {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r := report{Label: "run"}
	start := time.Now()
	var err error
	if scenario.Stream {
		for value, fault := range flow.Stream(ctx, scenario.Question) {
			err = fault
			if fault == nil && !value.Done {
				r.Answer += value.Stream
			}
			if scenario.AbortAfter > 0 && len(r.Answer) >= scenario.AbortAfter {
				leave()
			}
		}
	} else {
		r.Answer, err = flow.Run(ctx, scenario.Question)
	}
	r.Millis = time.Since(start).Milliseconds()
	if err != nil {
		r.Threw, r.Error = true, err.Error()
	}
	return r
}
