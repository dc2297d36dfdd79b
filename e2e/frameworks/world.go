package frameworks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentslo/agentslo/truth"
)

// World is everything around an agent in one run of a scenario, as one server:
// the model under /v1 (OpenAI) and /v1beta (Gemini), the tools under /tools and
// the telemetry backend under /otlp. It keeps the truth of what they were asked.
type World struct {
	URL string

	scenario *Scenario
	handOff  Call
	server   *http.Server

	mu         sync.Mutex
	modelCalls []truth.ModelCall
	first      time.Time // model call
	last       time.Time // reply
	closed     int       // streams that the client left
	tools      []truth.ToolCall
	telemetry  telemetry
}

// NewWorld starts a world. handOff is what the model asks for to hand over.
func NewWorld(scenario *Scenario, handOff Call) (*World, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &World{URL: "http://" + listener.Addr().String(), scenario: scenario, handOff: handOff}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", w.chatCompletions)
	mux.HandleFunc("POST /v1/responses", w.responses)
	mux.HandleFunc("POST /v1beta/models/{call}", w.gemini)
	mux.HandleFunc("POST /tools/{tool}", w.tool)
	mux.HandleFunc("POST /otlp/v1/traces", w.telemetry.traces)
	mux.HandleFunc("POST /otlp/v1/logs", w.telemetry.logs)
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		w.telemetry.fault(fmt.Errorf("nothing answers %s %s", r.Method, r.URL.Path))
		http.NotFound(rw, r)
	})
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go w.server.Serve(listener) //nolint:errcheck // ends with Close
	return w, nil
}

// Close stops the server once every request was answered.
func (w *World) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if w.server.Shutdown(ctx) != nil {
		w.server.Close()
	}
}

// thinking is how long a model call takes before its first token.
const thinking = 100 * time.Millisecond

// next is the reply to the model call that came now, with its token counts,
// and writes the call down.
func (w *World) next() (n int, reply Reply, usage truth.ModelCall) {
	came := time.Now()
	time.Sleep(thinking)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first.IsZero() {
		w.first = came
	}
	w.last = time.Now()
	n = len(w.modelCalls)
	reply = w.scenario.Replies[min(n, len(w.scenario.Replies)-1)]
	if reply.HandOff {
		reply.Calls = []Call{w.handOff}
	}
	// What a provider would count: the conversation grows, its older part is
	// cached, and text costs thought.
	usage = truth.ModelCall{In: 200 + 75*int64(n), Out: 18, Finish: "tool_calls"}
	if n > 0 {
		usage.Cached = 128
	}
	if reply.Calls == nil {
		usage.Out, usage.Reasoning, usage.Finish = 40, 16, "stop"
	}
	w.modelCalls = append(w.modelCalls, usage)
	return n, reply, usage
}

// words of a text as a model streams them, each with the blank before it.
func words(text string) (list []string) {
	start := 0
	for i := range text {
		if i > 0 && text[i] == ' ' {
			list = append(list, text[start:i])
			start = i
		}
	}
	return append(list, text[start:])
}

// stream is an answer of server-sent events.
type stream struct {
	world  *World
	writer http.ResponseWriter
	ctx    context.Context
	said   int // characters of text
	gone   bool
}

func (w *World) stream(rw http.ResponseWriter, r *http.Request) *stream {
	rw.Header().Set("Content-Type", "text/event-stream")
	return &stream{world: w, writer: rw, ctx: r.Context()}
}

// event sends one event, of that name if it has one.
func (s *stream) event(name string, data any) {
	if s.gone {
		return
	}
	text, _ := json.Marshal(data)
	if name != "" {
		fmt.Fprintf(s.writer, "event: %s\n", name)
	}
	fmt.Fprintf(s.writer, "data: %s\n\n", text)
	s.writer.(http.Flusher).Flush()
}

// spoke comes after each word. Where the application is to leave after it, the
// stream waits for that, so that it always leaves at the same word. A client
// that has left gets no more.
func (s *stream) spoke(word string) {
	if s.gone {
		return
	}
	s.said += len(word)
	pause := 20 * time.Millisecond
	if leaves := s.world.scenario.AbortAfter; leaves > 0 && s.said >= leaves {
		pause = 5 * time.Second
	}
	select {
	case <-s.ctx.Done():
		s.gone = true
		s.world.mu.Lock()
		s.world.closed++
		s.world.mu.Unlock()
	case <-time.After(pause):
	}
}

func respond(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(body) //nolint:errcheck // the client may have gone
}

func read(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

type object = map[string]any

func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
