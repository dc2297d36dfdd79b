package processor

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// Report is a judged run as `sloctl derive -o json` prints it. A fact that the
// telemetry does not carry is null.
type Report struct {
	Run             string               `json:"run"`
	TraceID         string               `json:"trace_id"`
	Service         string               `json:"service"`
	Environment     string               `json:"environment"`
	Agent           string               `json:"agent"`
	Outcome         string               `json:"outcome"`
	OutcomeReason   string               `json:"outcome_reason,omitempty"`
	Completion      string               `json:"completion"`
	Start           time.Time            `json:"start"`
	DurationSeconds *float64             `json:"duration_seconds"`
	ModelCalls      *int                 `json:"model_calls"`
	ToolCalls       ToolCallReport       `json:"tool_calls"`
	Tokens          TokenReport          `json:"tokens"`
	CostUSD         *float64             `json:"cost_usd"`
	FirstWrong      *FirstWrongReport    `json:"first_wrong"`
	Blocker         *BlockerReport       `json:"blocker"`
	Excluded        string               `json:"excluded,omitempty"`
	SLOs            map[string]SLOReport `json:"slos"`
	// Wasted is what was spent to no avail, by cause.
	Wasted map[string]WasteReport `json:"wasted,omitempty"`
	// ProviderFaults counts model calls that failed for trouble at the provider,
	// by its kind; Failovers are those after which another model or provider was
	// called.
	ProviderFaults map[string]int `json:"provider_faults,omitempty"`
	Failovers      int            `json:"failovers,omitempty"`
	// Signals counts what else happened, see [sli.Signals].
	Signals map[string]int `json:"signals,omitempty"`
	// Why says where each fact comes from, if that was asked for.
	Why Why `json:"why,omitempty"`
}

// ToolCallReport counts executed tool calls. Unseen is the number of those that
// a model asked for and went on from, though nothing shows whether they ran; with
// nothing but such calls OK is null.
type ToolCallReport struct {
	OK     *int           `json:"ok"`
	Failed map[string]int `json:"failed"`
	// Persistence counts the failed ones by what became of them over the run:
	// recovered, intermittent or permanent.
	Persistence map[string]int `json:"persistence,omitempty"`
	Unseen      int            `json:"unseen,omitempty"`
}

// TokenReport is the run's tokens. Input includes cached input and cache
// writes, output includes reasoning.
type TokenReport struct {
	Input       *int64 `json:"input"`
	CachedInput *int64 `json:"cached_input"`
	CacheWrite  *int64 `json:"cache_write"`
	Output      *int64 `json:"output"`
	Reasoning   *int64 `json:"reasoning"`
}

// SLOReport is one SLO's verdict on the run.
type SLOReport struct {
	Verdict string   `json:"verdict"`
	Reason  string   `json:"reason"`
	Value   *float64 `json:"value"`
	// Steps are what an SLO of steps counts of the run, and Verdict the worst
	// among them; steps that came out alike are one item.
	Steps []StepReport `json:"steps,omitempty"`
}

// WasteReport is what was wasted for one cause: tool calls by tool (model calls
// under "model"), and of the model calls the tokens and US dollars that are known.
type WasteReport struct {
	Calls   map[string]int64 `json:"calls"`
	Tokens  int64            `json:"tokens"`
	USD     float64          `json:"usd"`
	Seconds float64          `json:"seconds"`
}

func wasteReports(waste []sli.Waste) map[string]WasteReport {
	if len(waste) == 0 {
		return nil
	}
	out := make(map[string]WasteReport, len(waste))
	for i := range waste {
		w := &waste[i]
		calls := make(map[string]int64, len(w.Calls))
		for _, c := range w.Calls {
			calls[cmp.Or(c.Tool, "model")] += c.Count
		}
		out[w.Cause] = WasteReport{calls, w.Tokens, *rounded(&w.USD, 1e9), *rounded(&w.Seconds, 1e6)}
	}
	return out
}

// StepReport is a number of tool calls, or of invocations of a sub-agent.
type StepReport struct {
	Agent   string `json:"agent"`
	Tool    string `json:"tool,omitempty"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Count   int64  `json:"count"`
}

func stepReports(steps []sli.Step) []StepReport {
	var out []StepReport
	for i := range steps {
		s := &steps[i]
		out = append(out, StepReport{s.Agent, s.Tool, s.Verdict.String(), s.Reason, s.Count})
	}
	return out
}

// Report tells the run and the verdicts that came with it.
func (j *Judged) Report() Report {
	r := j.Run
	out := Report{
		Run: hex.EncodeToString(r.ID[:]), TraceID: r.TraceID.String(),
		Service: r.Service, Environment: r.Environment, Agent: r.Agent,
		Outcome: r.Outcome.String(), OutcomeReason: r.OutcomeReason, Completion: string(r.Completion),
		Start: time.Unix(0, int64(r.Start)).UTC(), DurationSeconds: rounded(r.Seconds, 1e6), ModelCalls: r.ModelCalls,
		ToolCalls: ToolCallReport{Failed: map[string]int{}}, CostUSD: rounded(r.CostUSD, 1e9),
		FirstWrong: firstWrongReport(r.FirstWrong), Blocker: blockerReport(r.Blocker),
		Excluded: j.Excluded, SLOs: map[string]SLOReport{},
	}
	if r.RunID != "" {
		out.Run = r.RunID
	}
	if j.File != nil {
		out.Service, out.Agent = j.File.Service, j.File.AgentLabel(r.Agent)
		if j.File.Environment != "" {
			out.Environment = j.File.Environment
		}
	}
	ok := 0
	for i := range r.Tools {
		switch t := &r.Tools[i]; {
		case t.Role != run.Evidence && t.Role != run.Counted, t.Unfinished:
		case t.Failed():
			out.ToolCalls.Failed[t.Class.String()]++
			if out.ToolCalls.Persistence == nil {
				out.ToolCalls.Persistence = map[string]int{}
			}
			out.ToolCalls.Persistence[t.Persistence.String()]++
		default:
			ok++
		}
	}
	if out.ToolCalls.Unseen = r.Unseen; r.Unseen == 0 || ok > 0 {
		out.ToolCalls.OK = &ok
	}
	count := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	u := r.Usage
	out.Tokens = TokenReport{count(u.Input), count(u.CachedInput), count(u.CacheWrite), count(u.Output), count(u.Reasoning)}
	out.Wasted, out.Failovers = wasteReports(sli.Wasted(j.File, r)), r.Failovers
	for i := range r.Faults {
		if out.ProviderFaults == nil {
			out.ProviderFaults = map[string]int{}
		}
		out.ProviderFaults[r.Faults[i].Fault.String()]++
	}
	for i := range sli.Signals {
		if n := sli.Signals[i].Count(r); n > 0 {
			if out.Signals == nil {
				out.Signals = map[string]int{}
			}
			out.Signals[sli.Signals[i].Name] = n
		}
	}
	for _, x := range j.Results {
		out.SLOs[x.SLO] = SLOReport{x.Verdict.String(), x.Reason, rounded(x.Value, 1e9), stepReports(x.Steps)}
	}
	return out
}

// rounded drops what floating point arithmetic adds behind 1/unit.
func rounded(v *float64, unit float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) || math.Abs(*v) > 1e6 {
		return v
	}
	x := math.Round(*v*unit) / unit
	return &x
}

// Derive judges recorded telemetry as one stream whose end ends every wait.
// feed hands the telemetry to the engine. Reports come in order of the runs'
// start, then trace id.
func Derive(files *slo.Set, feed func(*Engine)) ([]Judged, *run.Stats) {
	return derive(files, EngineOptions{}, feed)
}

// DeriveSources is [Derive] with runs that say where their facts come from: see
// [Explainer].
func DeriveSources(files *slo.Set, feed func(*Engine)) ([]Judged, *run.Stats) {
	return derive(files, EngineOptions{Sources: true}, feed)
}

func derive(files *slo.Set, options EngineOptions, feed func(*Engine)) ([]Judged, *run.Stats) {
	options.MaxBytes, options.Shards = math.MaxInt64, 1
	var all gathered
	e := NewEngine(files, options, all.take)
	feed(e)
	e.Finish(run.EndOfInput)
	return all.runs(), e.Stats()
}

// gathered puts together what an engine hands out of each run.
type gathered struct {
	byRun map[[16]byte]*Judged
	order [][16]byte
}

func (g *gathered) take(j Judged, _ int) {
	if first := g.byRun[j.Run.ID]; first != nil {
		first.Results = append(first.Results, j.Results...)
		first.Run = j.Run
		return
	}
	if g.byRun == nil {
		g.byRun = map[[16]byte]*Judged{}
	}
	g.byRun[j.Run.ID] = &j
	g.order = append(g.order, j.Run.ID)
}

func (g *gathered) runs() []Judged {
	out := make([]Judged, 0, len(g.order))
	for _, id := range g.order {
		out = append(out, *g.byRun[id])
	}
	sortJudged(out)
	return out
}

func sortJudged(list []Judged) {
	slices.SortFunc(list, func(a, b Judged) int {
		return cmp.Or(cmp.Compare(a.Run.Start, b.Run.Start), bytes.Compare(a.Run.TraceID[:], b.Run.TraceID[:]), bytes.Compare(a.Run.ID[:], b.Run.ID[:]))
	})
}
