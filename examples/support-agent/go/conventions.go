package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// fail marks the span as the conventions ask: status and error.type.
func fail(span trace.Span, err error) {
	kind := "_OTHER"
	var tool *toolError
	var status *statusError
	switch {
	case errors.As(err, &tool):
		kind = tool.kind
	case errors.As(err, &status):
		kind = strconv.Itoa(status.status)
	case errors.Is(err, errMaxTurns):
		kind = "max_turns_exceeded"
	case errors.Is(err, context.Canceled):
		kind = "context.Canceled"
	}
	span.RecordError(err)
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, err.Error())
}

func usageAttributes(u tokens) []attribute.KeyValue {
	if u == (tokens{}) {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int("gen_ai.usage.input_tokens", u.Input),
		attribute.Int("gen_ai.usage.output_tokens", u.Output),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", u.CachedInput),
		attribute.Int("gen_ai.usage.reasoning.output_tokens", u.Reasoning),
	}
}

// messagePart and message are the conventions' JSON of messages.
type messagePart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  json.RawMessage `json:"response,omitempty"`
}

type message struct {
	Role         string        `json:"role"`
	Parts        []messagePart `json:"parts"`
	FinishReason string        `json:"finish_reason,omitempty"`
}

func parts(m chatMessage) []messagePart {
	var ps []messagePart
	switch {
	case m.Role == "tool":
		return []messagePart{{Type: "tool_call_response", ID: m.ToolCallID, Response: json.RawMessage(m.Content)}}
	case m.Content != "":
		ps = append(ps, messagePart{Type: "text", Content: m.Content})
	}
	for _, c := range m.ToolCalls {
		ps = append(ps, messagePart{Type: "tool_call", ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return ps
}

func partsJSON(m chatMessage) string {
	text, _ := json.Marshal(parts(m))
	return string(text)
}

func messageJSON(messages []chatMessage, finish string) string {
	list := make([]message, 0, len(messages))
	for _, m := range messages {
		list = append(list, message{Role: m.Role, Parts: parts(m), FinishReason: map[string]string{"tool_calls": "tool_call"}[finish]})
		if last := &list[len(list)-1]; last.FinishReason == "" {
			last.FinishReason = finish
		}
	}
	text, _ := json.Marshal(list)
	return string(text)
}
