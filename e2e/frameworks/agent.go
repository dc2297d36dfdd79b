package frameworks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/agentslo/agentslo/truth"
)

// Agent is a program on one framework.
type Agent struct {
	Name    string // of its folder in agents, and its row in truth.Emitters
	Command []string
	// Instead names the scenario that it runs instead of another.
	Instead map[string]string
	HandOff Call
	// Generated finds in the text of an export request what each run has anew:
	// identifiers besides UUIDs, durations inside JSON text. What the first
	// group holds stays.
	Generated []*regexp.Regexp
	// Volatile names attributes that hold durations or rates.
	Volatile []string
}

// Agents are the programs in the folder agents.
var Agents = []Agent{
	{
		Name: "vercel-ai-v7", Command: node,
		Instead: map[string]string{"handoff": "subagent"},
		HandOff: Call{"ask_orders_agent", map[string]string{"input": "What is the status of order A-1001?"}},
		Volatile: []string{"gen_ai.client.operation.duration", "gen_ai.client.operation.time_to_first_chunk",
			"gen_ai.client.operation.time_per_output_chunk", "gen_ai.execute_tool.duration"},
	},
	{
		Name: "openai-agents-js", Command: node,
		HandOff: Call{"transfer_to_order_support", map[string]string{}},
	},
	{
		Name: "openinference-langchain", Command: node,
		Instead: map[string]string{"rag": "rag-plain"},
		HandOff: Call{"transfer_to_order_support", map[string]string{}},
	},
	{
		Name: "google-adk-js", Command: node,
		HandOff:   Call{"transfer_to_agent", map[string]string{"agentName": "order_support"}},
		Generated: []*regexp.Regexp{regexp.MustCompile(`("gcp\.vertex\.agent\.event_id","value":\{"stringValue":")\w{8}`)},
	},
	{
		Name: "strands-ts", Command: node,
		Instead: map[string]string{"handoff": "subagent"},
		HandOff: Call{"ask_orders_agent", map[string]string{"input": "What is the status of order A-1001?"}},
	},
	{
		Name: "genkit-go", Command: []string{"./genkit-go"},
		Instead:   map[string]string{"handoff": "subagent", "rag": "rag-plain"},
		HandOff:   Call{"ask_orders_agent", map[string]string{"input": "What is the status of order A-1001?"}},
		Generated: []*regexp.Regexp{regexp.MustCompile(`(latencyMs\\":)[\d.]+`)},
	},
}

var node = []string{"node", "main.mjs"}

// scenarios that the agent runs.
func (a *Agent) scenarios() (list []Scenario) {
	for _, s := range Scenarios {
		if s.MaxSteps == 0 {
			s.MaxSteps = steps
		}
		optional := s.Name == "subagent" || s.Name == "rag-plain"
		instead := false
		for left, taken := range a.Instead {
			optional = optional && s.Name != taken
			instead = instead || s.Name == left
		}
		if !optional && !instead {
			list = append(list, s)
		}
	}
	return list
}

// Recording is what came of one run.
type Recording struct {
	Entry    truth.Entry
	Requests []Request // as they came
	Traces   string    // normalised OTLP/JSON
	Logs     string    // the same; "" without log records
}

// Record runs one scenario and returns what was emitted and what happened.
// root is the repository's folder.
func (a *Agent) Record(ctx context.Context, root string, s *Scenario) (*Recording, error) {
	name := a.Name + "/" + s.Name
	world, err := NewWorld(s, a.HandOff)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	app, err := a.run(ctx, root, s, world.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	world.Close()
	if err := errors.Join(world.telemetry.faults...); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	app.ServedMillis = float64(world.last.Sub(world.first).Milliseconds())
	r := &Recording{Requests: world.telemetry.requests, Entry: truth.Entry{
		Framework: a.Name, Scenario: s.Name, Variant: s.Name, ClientClosedStream: world.closed,
		ModelCalls: world.modelCalls, Tools: world.tools, Runs: []truth.AppRun{app},
	}}
	n := normaliser{name: name, root: root, url: world.URL, generated: a.Generated}
	if r.Traces, r.Logs, err = n.normalise(world.telemetry.spans, world.telemetry.records); err != nil {
		return nil, err
	}
	file := name + ".json"
	r.Entry.File = &file
	if r.Logs != "" {
		file := name + ".logs.json"
		r.Entry.LogsFile = &file
	}
	return r, nil
}

// run starts the program, which prints what its application saw as JSON.
func (a *Agent) run(ctx context.Context, root string, s *Scenario, url string) (app truth.AppRun, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, a.Command[0], a.Command[1:]...)
	c.Dir = filepath.Join(root, "e2e/frameworks/agents", a.Name)
	c.Env = append(os.Environ(), "SCENARIO="+jsonText(s), "WORLD="+url, "OTEL_EXPORTER_OTLP_ENDPOINT="+url+"/otlp")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return app, fmt.Errorf("%w\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &app); err != nil {
		return app, fmt.Errorf("%w in what it printed:\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	app.Scores = s.Scores
	return app, nil
}
