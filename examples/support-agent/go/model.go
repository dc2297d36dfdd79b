package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The part of OpenAI's chat completions that the agent and the scripted
// server speak.
type (
	chatRequest struct {
		Model    string            `json:"model"`
		Messages []chatMessage     `json:"messages"`
		Tools    []chatTool        `json:"tools,omitempty"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}
	chatMessage struct {
		Role       string         `json:"role"`
		Content    string         `json:"content,omitempty"`
		ToolCalls  []chatToolCall `json:"tool_calls,omitempty"`
		ToolCallID string         `json:"tool_call_id,omitempty"`
	}
	chatToolCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function toolFunction `json:"function"`
	}
	toolFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	chatResponse struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Model   string       `json:"model"`
		Choices []chatChoice `json:"choices"`
		Usage   chatUsage    `json:"usage"`
	}
	chatChoice struct {
		Index        int         `json:"index"`
		Message      chatMessage `json:"message"`
		FinishReason string      `json:"finish_reason"`
	}
	chatUsage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
		PromptDetails    struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// modelServer replies by script. The request's metadata names the scenario and
// the run; the turn is how many replies of the model the conversation holds.
type modelServer struct {
	url      string
	slow     time.Duration
	server   *http.Server
	mu       sync.Mutex
	served   map[string]*servedRun
	response int
}

// servedRun is what one run was served.
type servedRun struct {
	calls  int
	tokens tokens
}

func startModel(slow time.Duration) (*modelServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &modelServer{url: "http://" + listener.Addr().String(), slow: slow, served: map[string]*servedRun{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go m.server.Serve(listener) //nolint:errcheck // ends with Close
	return m, nil
}

func (m *modelServer) Close() error { return m.server.Close() }

// taken returns what the run was served, and forgets it.
func (m *modelServer) taken(run string) servedRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.served[run]
	delete(m.served, run)
	if s == nil {
		return servedRun{}
	}
	return *s
}

func (m *modelServer) complete(w http.ResponseWriter, r *http.Request) {
	var request chatRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, ok := findScenario(request.Metadata["scenario"])
	if !ok {
		http.Error(w, "no such scenario", http.StatusBadRequest)
		return
	}
	replies := 0
	for _, message := range request.Messages {
		if message.Role == "assistant" {
			replies++
		}
	}
	reply := s.turns[min(replies, len(s.turns)-1)]
	usage := reply.usage
	if usage == (tokens{}) {
		usage = madeUp(request, reply)
	}

	m.mu.Lock()
	run := m.served[request.Metadata["run"]]
	if run == nil {
		run = &servedRun{}
		m.served[request.Metadata["run"]] = run
	}
	run.calls++
	if reply.status == 0 {
		run.tokens.add(usage)
	}
	m.response++
	id := m.response
	m.mu.Unlock()

	time.Sleep(15 * time.Millisecond) // a model takes its time
	w.Header().Set("Content-Type", "application/json")
	if reply.status != 0 {
		w.WriteHeader(reply.status)
		fmt.Fprint(w, `{"error":{"message":"The server had an error while processing your request.","type":"server_error"}}`)
		return
	}
	response := chatResponse{ID: fmt.Sprintf("chatcmpl-%s-%d", request.Metadata["run"], id), Object: "chat.completion", Model: request.Model + "-2025-08-07"}
	choice := chatChoice{Message: chatMessage{Role: "assistant", Content: reply.text}, FinishReason: reply.finish}
	for i, c := range reply.calls {
		toolCall := chatToolCall{ID: fmt.Sprintf("call_%d_%d", id, i), Type: "function"}
		toolCall.Function.Name, toolCall.Function.Arguments = c.tool, c.arguments
		choice.Message.ToolCalls = append(choice.Message.ToolCalls, toolCall)
	}
	if choice.FinishReason == "" {
		choice.FinishReason = "stop"
		if len(reply.calls) > 0 {
			choice.FinishReason = "tool_calls"
		}
	}
	response.Choices = []chatChoice{choice}
	response.Usage = chatUsage{PromptTokens: usage.Input, CompletionTokens: usage.Output, TotalTokens: usage.Input + usage.Output}
	response.Usage.PromptDetails.CachedTokens = usage.CachedInput
	response.Usage.CompletionDetails.ReasoningTokens = usage.Reasoning
	json.NewEncoder(w).Encode(response) //nolint:errcheck // the client may be gone
}

// madeUp is a usage that looks like a real one: it grows with the
// conversation, later turns are served from the cache, and text costs thought.
func madeUp(request chatRequest, reply turn) tokens {
	usage := tokens{Input: 200, Output: 18 * len(reply.calls)}
	for _, message := range request.Messages {
		usage.Input += len(strings.Fields(message.Content)) + 40*len(message.ToolCalls)
		if message.Role == "tool" {
			usage.CachedInput = 128
		}
	}
	if reply.text != "" {
		usage.Output += 2*len(strings.Fields(reply.text)) + 16
		usage.Reasoning = 16
	}
	return usage
}
