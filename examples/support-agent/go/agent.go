package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"
)

const maxTurns = 6

// agent asks the model, runs the tools it asks for, and asks again until it
// answers.
type agent struct {
	name, model string
	content     bool
	evaluations string
	tenant      string
	server      *modelServer
	telemetry   *telemetry
	tracer      trace.Tracer
}

// errMaxTurns ends a run that never comes to an answer.
var errMaxTurns = fmt.Errorf("max turns exceeded: %d", maxTurns)

// statusError is a model call that the server refused.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprintf("model API: HTTP %d: %s", e.status, e.body) }

// run answers the scenario's question once. hold, if set, is called before
// the last turn's model call.
func (a *agent) run(ctx context.Context, s scenario, hold func()) truth {
	w := &work{agent: a, scenario: s, hold: hold, shop: &shop{slow: a.server.slow}, truth: truth{Scenario: s.name, Agent: a.name, Outcome: s.outcome,
		ToolCalls: toolCounts{Failed: map[string]int{}}}}
	answer, root, err := w.invoke(ctx, a.name, s.question, w.shop.tools(), true)

	t := &w.truth
	t.TraceID = root.SpanContext().TraceID()
	served := a.server.taken(t.TraceID.String())
	t.ModelCalls, t.Tokens = served.calls, served.tokens
	if err == nil {
		t.Answer = answer
	}
	if a.evaluations != "none" && s.correctness != nil {
		t.Scores = map[string]any{"correctness": *s.correctness, "groundedness": *s.groundedness}
	}
	return w.truth
}

// work is one run in progress.
type work struct {
	*agent
	scenario scenario
	shop     *shop
	hold     func()
	truth    truth
}

// invoke is the agent loop, in an invoke_agent span. The root also carries the
// run's conversation and evaluations.
func (w *work) invoke(ctx context.Context, name, question string, tools []tool, root bool) (string, trace.Span, error) {
	ctx, span := w.tracer.Start(ctx, "invoke_agent "+name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.agent.name", name),
		attribute.String("gen_ai.request.model", w.model)))
	defer span.End()
	runID := span.SpanContext().TraceID().String()
	if root {
		span.SetAttributes(attribute.String("gen_ai.conversation.id", "conversation-"+runID[:8]))
		if w.tenant != "" {
			span.SetAttributes(attribute.String("app.tenant", w.tenant))
		}
	}
	instructions := chatMessage{Role: "system", Content: "You help customers of a shop. Look orders up; never guess."}
	messages := []chatMessage{instructions, {Role: "user", Content: question}}
	if w.content {
		span.SetAttributes(attribute.String("gen_ai.input.messages", messageJSON(messages[1:], "")))
	}

	answer, total, finish, err := w.loop(ctx, messages, tools, root)
	span.SetAttributes(usageAttributes(total)...)
	if err != nil {
		fail(span, err)
		return "", span, err
	}
	span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{finish}))
	if w.content && answer != "" {
		span.SetAttributes(attribute.String("gen_ai.output.messages", messageJSON([]chatMessage{{Role: "assistant", Content: answer}}, finish)))
	}
	if root {
		w.evaluate(ctx, span)
	}
	return answer, span, nil
}

func (w *work) loop(ctx context.Context, messages []chatMessage, tools []tool, root bool) (answer string, total tokens, finish string, err error) {
	scenario := w.scenario.name
	if !root {
		scenario = "ok" // a sub-agent has a course of its own
	}
	for number := range maxTurns {
		turnContext := ctx
		// A loop has no last turn of its own.
		last := number == min(len(w.scenario.turns), maxTurns)-1
		if root && last && w.hold != nil {
			w.hold()
		}
		if root && last && w.scenario.cancel {
			// The caller leaves while the model is at work.
			var cancel context.CancelFunc
			turnContext, cancel = context.WithCancel(ctx)
			time.AfterFunc(5*time.Millisecond, cancel)
			defer cancel()
		}
		reply, usage, err := w.chat(turnContext, scenario, messages, tools)
		if err != nil {
			return "", total, "", err
		}
		total.add(usage)
		messages = append(messages, reply.Message)
		if len(reply.Message.ToolCalls) == 0 {
			return reply.Message.Content, total, reply.FinishReason, nil
		}
		results, handedOver, err := w.callTools(turnContext, reply.Message.ToolCalls, tools)
		if err != nil {
			return "", total, "", err
		}
		messages = append(messages, results...)
		if handedOver {
			return "", total, reply.FinishReason, nil
		}
	}
	return "", total, "", errMaxTurns
}

// chat is one model call, in a chat span.
func (w *work) chat(ctx context.Context, scenario string, messages []chatMessage, tools []tool) (chatChoice, tokens, error) {
	server, _ := url.Parse(w.server.url)
	port, _ := strconv.Atoi(server.Port())
	ctx, span := w.tracer.Start(ctx, "chat "+w.model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", w.model),
		attribute.String("server.address", server.Hostname()),
		attribute.Int("server.port", port)))
	defer span.End()
	request := chatRequest{Model: w.model, Messages: messages, Metadata: map[string]string{
		"scenario": scenario, "run": span.SpanContext().TraceID().String()}}
	for _, t := range tools {
		request.Tools = append(request.Tools, chatTool{Type: "function", Function: t.toolFunction})
	}
	if w.content {
		definitions, _ := json.Marshal(request.Tools)
		span.SetAttributes(
			attribute.String("gen_ai.system_instructions", partsJSON(messages[0])),
			attribute.String("gen_ai.input.messages", messageJSON(messages[1:], "")),
			attribute.String("gen_ai.tool.definitions", string(definitions)))
	}
	response, err := post(ctx, w.server.url+"/v1/chat/completions", request)
	if err != nil {
		fail(span, err)
		return chatChoice{}, tokens{}, err
	}
	choice := response.Choices[0]
	usage := tokens{Input: response.Usage.PromptTokens, CachedInput: response.Usage.PromptDetails.CachedTokens,
		Output: response.Usage.CompletionTokens, Reasoning: response.Usage.CompletionDetails.ReasoningTokens}
	span.SetAttributes(
		attribute.String("gen_ai.response.id", response.ID),
		attribute.String("gen_ai.response.model", response.Model),
		attribute.StringSlice("gen_ai.response.finish_reasons", []string{choice.FinishReason}))
	span.SetAttributes(usageAttributes(usage)...)
	if w.content {
		span.SetAttributes(attribute.String("gen_ai.output.messages", messageJSON([]chatMessage{choice.Message}, choice.FinishReason)))
	}
	return choice, usage, nil
}

func post(ctx context.Context, address string, request chatRequest) (*chatResponse, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var refusal struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		json.NewDecoder(response.Body).Decode(&refusal) //nolint:errcheck // the status says enough
		return nil, &statusError{response.StatusCode, refusal.Error.Message}
	}
	var reply chatResponse
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return nil, err
	}
	if len(reply.Choices) == 0 {
		return nil, errors.New("model API: no choice in the reply")
	}
	return &reply, nil
}

// callTools runs the calls of one reply. handedOver says that a person has the
// conversation now.
func (w *work) callTools(ctx context.Context, calls []chatToolCall, tools []tool) (results []chatMessage, handedOver bool, err error) {
	for _, c := range calls {
		result, err := w.callTool(ctx, c, tools)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		content, _ := json.Marshal(result)
		if err != nil {
			content, _ = json.Marshal(map[string]string{"error": err.Error()})
		}
		results = append(results, chatMessage{Role: "tool", ToolCallID: c.ID, Content: string(content)})
		handedOver = handedOver || c.Function.Name == "escalate_to_human" && err == nil
	}
	return results, handedOver, nil
}

// callTool is one tool call, in an execute_tool span.
func (w *work) callTool(ctx context.Context, c chatToolCall, tools []tool) (any, error) {
	name := c.Function.Name
	ctx, span := w.tracer.Start(ctx, "execute_tool "+name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.tool.call.id", c.ID)))
	defer span.End()
	if w.content {
		span.SetAttributes(attribute.String("gen_ai.tool.call.arguments", c.Function.Arguments))
	}
	result, err := w.execute(ctx, name, c.Function.Arguments, tools)
	if err != nil {
		fail(span, err)
		class := "unclassified"
		var e *toolError
		if errors.As(err, &e) {
			class = e.class
		}
		w.truth.ToolCalls.Failed[class]++
		return nil, err
	}
	if name != "ask_orders_agent" { // the sub-agent's own calls are counted
		w.truth.ToolCalls.OK++
	}
	if w.content {
		text, _ := json.Marshal(result)
		span.SetAttributes(attribute.String("gen_ai.tool.call.result", string(text)))
	}
	return result, nil
}

func (w *work) execute(ctx context.Context, name, arguments string, tools []tool) (any, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
	if i < 0 {
		return nil, &toolError{"unknown_tool", fmt.Sprintf("unknown tool %q", name), "bad_args"}
	}
	var values map[string]string
	if err := json.Unmarshal([]byte(arguments), &values); err != nil {
		return nil, &toolError{"invalid_argument", "arguments: " + err.Error(), "bad_args"}
	}
	if name == "ask_orders_agent" {
		answer, _, err := w.invoke(ctx, "orders-agent", values["question"], without(tools, name), false)
		return map[string]string{"answer": answer}, err
	}
	return tools[i].call(ctx, values)
}

// evaluate is the judge that scores an answer: as events of the root span, or
// as log records that point at it, as a judge outside the process would send.
func (w *work) evaluate(ctx context.Context, span trace.Span) {
	if w.scenario.correctness == nil {
		return
	}
	scores := []struct {
		name  string
		value float64
	}{{"correctness", *w.scenario.correctness}, {"groundedness", *w.scenario.groundedness}}
	for _, s := range scores {
		label := "pass"
		if s.value < 0.5 {
			label = "fail"
		}
		switch w.evaluations {
		case "events":
			span.AddEvent("gen_ai.evaluation.result", trace.WithAttributes(
				attribute.String("gen_ai.evaluation.name", s.name),
				attribute.Float64("gen_ai.evaluation.score.value", s.value),
				attribute.String("gen_ai.evaluation.score.label", label)))
		case "logs":
			var record log.Record
			record.SetEventName("gen_ai.evaluation.result")
			record.SetTimestamp(time.Now())
			record.SetSeverity(log.SeverityInfo)
			record.AddAttributes(attribute.String("gen_ai.evaluation.name", s.name), attribute.Float64("gen_ai.evaluation.score.value", s.value),
				attribute.String("gen_ai.evaluation.score.label", label))
			w.telemetry.logger().Emit(ctx, record) // ctx carries the judged span
		}
	}
}
