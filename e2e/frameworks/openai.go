package frameworks

import (
	"fmt"
	"net/http"

	"github.com/agentslo/agentslo/truth"
)

const (
	modelName    = "gpt-4o-mini-2024-07-18"
	modelCreated = 1767225600
)

type openAIRequest struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// chatCompletions is OpenAI's older API, which most others speak as well.
func (w *World) chatCompletions(rw http.ResponseWriter, r *http.Request) {
	var request openAIRequest
	if err := read(r, &request); err != nil {
		respond(rw, http.StatusBadRequest, object{"error": object{"message": err.Error()}})
		return
	}
	n, reply, served := w.next()
	head := func(kind string, more object) object {
		more["id"], more["object"], more["created"], more["model"] = fmt.Sprintf("chatcmpl-%d", n+1), kind, modelCreated, modelName
		return more
	}
	var calls []object
	for i, c := range reply.Calls {
		calls = append(calls, object{"index": i, "id": callID(n, i), "type": "function",
			"function": object{"name": c.Tool, "arguments": jsonText(c.Arguments)}})
	}
	usage := object{
		"prompt_tokens": served.In, "completion_tokens": served.Out, "total_tokens": served.In + served.Out,
		"prompt_tokens_details":     object{"cached_tokens": served.Cached},
		"completion_tokens_details": object{"reasoning_tokens": served.Reasoning},
	}
	if !request.Stream {
		message := object{"role": "assistant", "content": nil}
		if reply.Text != "" {
			message["content"] = reply.Text
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		respond(rw, http.StatusOK, head("chat.completion", object{"usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": served.Finish}}}))
		return
	}
	s := w.stream(rw, r)
	chunk := func(delta object, finish any) {
		s.event("", head("chat.completion.chunk", object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if calls != nil {
		chunk(object{"tool_calls": calls}, nil)
	} else {
		for _, word := range words(reply.Text) {
			chunk(object{"content": word}, nil)
			s.spoke(word)
		}
	}
	chunk(object{}, served.Finish)
	if request.StreamOptions.IncludeUsage {
		s.event("", head("chat.completion.chunk", object{"choices": []object{}, "usage": usage}))
	}
	if !s.gone {
		fmt.Fprint(s.writer, "data: [DONE]\n\n")
	}
}

// responses is OpenAI's newer API.
func (w *World) responses(rw http.ResponseWriter, r *http.Request) {
	var request openAIRequest
	if err := read(r, &request); err != nil {
		respond(rw, http.StatusBadRequest, object{"error": object{"message": err.Error()}})
		return
	}
	n, reply, served := w.next()
	var output []object
	for i, c := range reply.Calls {
		output = append(output, object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n+1, i), "call_id": callID(n, i),
			"name": c.Tool, "arguments": jsonText(c.Arguments), "status": "completed"})
	}
	if output == nil {
		output = append(output, object{"type": "message", "id": fmt.Sprintf("msg_%d", n+1), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": reply.Text, "annotations": []any{}}}})
	}
	response := func(status string, output []object, usage any) object {
		return object{"id": fmt.Sprintf("resp_%d", n+1), "object": "response", "created_at": modelCreated, "model": modelName,
			"status": status, "output": output, "usage": usage, "error": nil, "incomplete_details": nil,
			"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "metadata": object{}}
	}
	done := response("completed", output, responsesUsage(served))
	if !request.Stream {
		respond(rw, http.StatusOK, done)
		return
	}
	s := w.stream(rw, r)
	sequence := 0
	event := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, sequence
		sequence++
		s.event(kind, more)
	}
	event("response.created", object{"response": response("in_progress", []object{}, nil)})
	for i, item := range output {
		if item["type"] == "function_call" {
			event("response.output_item.added", object{"output_index": i, "item": with(with(item, "arguments", ""), "status", "in_progress")})
			event("response.function_call_arguments.delta", object{"output_index": i, "item_id": item["id"], "delta": item["arguments"]})
			event("response.function_call_arguments.done", object{"output_index": i, "item_id": item["id"], "name": item["name"], "arguments": item["arguments"]})
		} else {
			part := object{"output_index": i, "item_id": item["id"], "content_index": 0}
			event("response.output_item.added", object{"output_index": i, "item": with(with(item, "content", []any{}), "status", "in_progress")})
			event("response.content_part.added", with(part, "part", object{"type": "output_text", "text": "", "annotations": []any{}}))
			for _, word := range words(reply.Text) {
				event("response.output_text.delta", with(with(part, "delta", word), "logprobs", []any{}))
				s.spoke(word)
			}
			event("response.output_text.done", with(with(part, "text", reply.Text), "logprobs", []any{}))
			event("response.content_part.done", with(part, "part", object{"type": "output_text", "text": reply.Text, "annotations": []any{}}))
		}
		event("response.output_item.done", object{"output_index": i, "item": item})
	}
	event("response.completed", object{"response": done})
}

func responsesUsage(served truth.ModelCall) object {
	return object{
		"input_tokens": served.In, "output_tokens": served.Out, "total_tokens": served.In + served.Out,
		"input_tokens_details":  object{"cached_tokens": served.Cached},
		"output_tokens_details": object{"reasoning_tokens": served.Reasoning},
	}
}

func callID(n, i int) string { return fmt.Sprintf("call_%d_%d", n+1, i) }

// with is a copy of an object with one more key.
func with(o object, key string, value any) object {
	c := object{key: value}
	for k, v := range o {
		if k != key {
			c[k] = v
		}
	}
	return c
}
