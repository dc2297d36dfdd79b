// Package demo replays recorded agent runs as if they happened now: first an
// agent that does well, then an incident. It knows recordings and OTLP over
// HTTP, and nothing of what is made of the spans.
package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/examples"
)

// SLOFile is the SLO file that the demo runs with.
//
//go:embed slo.yaml
var SLOFile []byte

// emitter is the agent whose recordings are replayed.
const emitter = "support-agent-go"

// Healthy is what the agent does on a good day: now and then a wrong answer,
// which a budget is there to allow.
var Healthy = Act{
	"ok": 40, "rag": 24, "refund": 12, "parallel": 8, "recovered": 6, "subagent": 4, "polling": 4, "wrong": 2,
}

// Incident is a bad hour: a tool fails, answers go out without a tool, one
// agent loops. The other runs go on as before.
var Incident = Act{
	"ok": 6, "rag": 4, "tool_failed": 14, "tool_free": 10, "loop": 16,
}

// Act is a number of runs by scenario.
type Act map[string]int

// Runs is how many runs the act has.
func (a Act) Runs() (n int) {
	for _, x := range a {
		n += x
	}
	return n
}

// Player sends recorded runs to an OTLP endpoint.
type Player struct {
	// Endpoint is the base URL of OTLP over HTTP, such as http://localhost:4318.
	Endpoint string
	client   http.Client
	runs     map[string][]ptrace.Traces
}

// NewPlayer reads the recordings.
func NewPlayer(endpoint string) (*Player, error) {
	list, err := examples.Recordings()
	if err != nil {
		return nil, err
	}
	p := &Player{Endpoint: endpoint, client: http.Client{Timeout: 10 * time.Second}, runs: map[string][]ptrace.Traces{}}
	for i := range list {
		if list[i].Emitter != emitter {
			continue
		}
		traces, err := list[i].Traces()
		if err != nil {
			return nil, err
		}
		p.runs[list[i].Scenario] = traces
	}
	return p, nil
}

// Play sends the act's runs evenly over the time it may take, scenarios mixed.
// Each run ends when it is sent.
func (p *Player) Play(ctx context.Context, act Act, over time.Duration) error {
	order, err := p.mix(act)
	if err != nil {
		return err
	}
	every := time.NewTicker(max(over/time.Duration(max(len(order), 1)), time.Millisecond))
	defer every.Stop()
	for _, scenario := range order {
		if err := p.send(ctx, scenario); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
	return nil
}

// mix spreads each scenario evenly over the act.
func (p *Player) mix(act Act) ([]string, error) {
	for scenario := range act {
		if _, ok := p.runs[scenario]; !ok {
			return nil, fmt.Errorf("no recording of scenario %q", scenario)
		}
	}
	sent := map[string]int{}
	total := act.Runs()
	order := make([]string, 0, total)
	for k := range total {
		// The scenario that is furthest behind its share comes next; of equals the first by name.
		best, behind := "", -1.0
		for scenario, n := range act {
			if sent[scenario] == n {
				continue
			}
			d := float64(n)*float64(k+1)/float64(total) - float64(sent[scenario])
			if d > behind || d == behind && scenario < best {
				best, behind = scenario, d
			}
		}
		if best == "" {
			for scenario, n := range act {
				if sent[scenario] < n && (best == "" || scenario < best) {
					best = scenario
				}
			}
		}
		sent[best]++
		order = append(order, best)
	}
	return order, nil
}

// send posts one run with fresh times and a trace id of its own.
func (p *Player) send(ctx context.Context, scenario string) error {
	var trace pcommon.TraceID
	_, _ = rand.Read(trace[:])
	var last pcommon.Timestamp
	for _, td := range p.runs[scenario] {
		for s := range spans(td) {
			last = max(last, s.EndTimestamp())
		}
	}
	shift := int64(pcommon.NewTimestampFromTime(time.Now())) - int64(last)
	for _, recorded := range p.runs[scenario] {
		td := ptrace.NewTraces()
		recorded.CopyTo(td)
		for s := range spans(td) {
			s.SetTraceID(trace)
			s.SetStartTimestamp(shifted(s.StartTimestamp(), shift))
			s.SetEndTimestamp(shifted(s.EndTimestamp(), shift))
			for i := range s.Events().Len() {
				e := s.Events().At(i)
				e.SetTimestamp(shifted(e.Timestamp(), shift))
			}
			for i := range s.Links().Len() {
				s.Links().At(i).SetTraceID(trace)
			}
		}
		if err := p.post(ctx, td); err != nil {
			return err
		}
	}
	return nil
}

func shifted(t pcommon.Timestamp, by int64) pcommon.Timestamp {
	return pcommon.Timestamp(int64(t) + by)
}

// spans calls yield with every span of td.
func spans(td ptrace.Traces) func(func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for i := range td.ResourceSpans().Len() {
			for j := range td.ResourceSpans().At(i).ScopeSpans().Len() {
				list := td.ResourceSpans().At(i).ScopeSpans().At(j).Spans()
				for k := range list.Len() {
					if !yield(list.At(k)) {
						return
					}
				}
			}
		}
	}
}

func (p *Player) post(ctx context.Context, td ptrace.Traces) error {
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Endpoint+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s: %s: %s", request.URL, response.Status, text)
	}
	return nil
}
