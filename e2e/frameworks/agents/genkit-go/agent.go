package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/genkit"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const instructions = "You help customers of a shop. Look orders up; never guess."

type (
	orderInput struct {
		OrderID string `json:"order_id"`
	}
	retrieveInput struct {
		Query string `json:"query"`
	}
	askInput struct {
		Input string `json:"input"`
	}
)

// agent defines the flow that the scenario runs.
func agent(g *genkit.Genkit) *core.Flow[string, string, string] {
	// One tool alone: Genkit lists several in an order that changes from run to run.
	status := genkit.DefineTool(g, "get_order_status", "Status of an order.", func(ctx *ai.ToolContext, in orderInput) (any, error) {
		return work(ctx, "get_order_status", in)
	})
	orders := genkit.DefineStreamingFlow(g, "orderSupport", func(ctx context.Context, question string, give core.StreamCallback[string]) (string, error) {
		return generate(ctx, g, question, give, ai.WithTools(status))
	})
	switch scenario.Name {
	case "subagent":
		delegate := genkit.DefineTool(g, "ask_orders_agent", "Ask the agent that knows orders.", func(ctx *ai.ToolContext, in askInput) (string, error) {
			return orders.Run(ctx, in.Input)
		})
		return genkit.DefineStreamingFlow(g, "support", func(ctx context.Context, question string, give core.StreamCallback[string]) (string, error) {
			return generate(ctx, g, question, give, ai.WithTools(delegate))
		})
	case "rag-plain":
		retriever := genkit.DefineRetriever(g, "helpCentre", nil, retrieve)
		return genkit.DefineStreamingFlow(g, "helpCentreRag", func(ctx context.Context, question string, give core.StreamCallback[string]) (string, error) {
			found, err := genkit.Retrieve(ctx, g, ai.WithRetriever(retriever), ai.WithTextDocs(question))
			if err != nil {
				return "", err
			}
			return generate(ctx, g, question, give, ai.WithDocs(found.Documents...))
		})
	}
	return orders
}

func generate(ctx context.Context, g *genkit.Genkit, question string, give core.StreamCallback[string], more ai.GenerateOption) (string, error) {
	options := []ai.GenerateOption{ai.WithSystem(instructions), ai.WithPrompt(question), ai.WithMaxTurns(scenario.MaxSteps - 1), more}
	if scenario.Stream {
		options = append(options, ai.WithStreaming(func(ctx context.Context, chunk *ai.ModelResponseChunk) error {
			return give(ctx, chunk.Text())
		}))
	}
	response, err := genkit.Generate(ctx, g, options...)
	if err != nil {
		return "", err
	}
	return response.Text(), nil
}

func retrieve(ctx context.Context, request *ai.RetrieverRequest) (*ai.RetrieverResponse, error) {
	found, err := work(ctx, "retrieve", retrieveInput{request.Query.Content[0].Text})
	if err != nil {
		return nil, err
	}
	response := &ai.RetrieverResponse{}
	for _, f := range found.([]any) {
		d := f.(map[string]any)
		response.Documents = append(response.Documents, ai.DocumentFromText(d["text"].(string), map[string]any{"id": d["id"]}))
	}
	return response, nil
}

// work does a tool's work; a failure is an error.
func work(ctx context.Context, tool string, input any) (any, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, world+"/tools/"+tool, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(string(text))
	}
	var result any
	err = json.Unmarshal(text, &result)
	return result, err
}

// evaluate has Genkit's evaluator judge the run of that trace.
func evaluate(ctx context.Context, g *genkit.Genkit, trace, answer string) error {
	for _, name := range slices.Sorted(maps.Keys(scenario.Scores)) {
		score := scenario.Scores[name]
		judge := genkit.DefineEvaluator(g, name, &ai.EvaluatorOptions{DisplayName: name, Definition: name},
			func(_ context.Context, in *ai.EvaluatorCallbackRequest) (*ai.EvaluatorCallbackResponse, error) {
				return &ai.EvaluationResult{TestCaseId: in.Input.TestCaseId, Evaluation: []ai.Score{{Score: score}}}, nil
			})
		_, err := genkit.Evaluate(ctx, g, ai.WithEvaluator(judge),
			ai.WithDataset(&ai.Example{TestCaseId: "run", Input: scenario.Question, Output: answer, TraceIds: []string{trace}}))
		if err != nil {
			return err
		}
	}
	return nil
}

// firstTrace remembers the trace that began first: the run's.
type firstTrace struct{ id string }

func (f *firstTrace) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if f.id == "" {
		f.id = s.SpanContext().TraceID().String()
	}
}
func (*firstTrace) OnEnd(sdktrace.ReadOnlySpan)      {}
func (*firstTrace) Shutdown(context.Context) error   { return nil }
func (*firstTrace) ForceFlush(context.Context) error { return nil }
