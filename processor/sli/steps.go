package sli

import (
	"cmp"
	"slices"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Step counts steps of one run that came out alike for one SLO. A step is a
// tool call or the work of a sub-agent, whichever the SLO's scope says.
type Step struct {
	Agent   string // label of the agent that called the tool, or of the sub-agent
	Tool    string // "" for a sub-agent
	Verdict slo.Verdict
	Reason  string
	Count   int64 // at least 1
}

// maxSteps is how many different steps a run may have for one SLO. Beyond it
// the rarest are counted under [slo.OverflowValue].
const maxSteps = 64

// steps judges each step of the run on its own. The run as a whole gets its
// worst one: bad before unknown before good.
func (s *subject) steps(o *slo.Objective, excluded string) Result {
	override, pending := s.overrideSteps(o, excluded)
	counts := map[Step]int64{}
	count := func(step Step, n int64) {
		if override != nil {
			step.Verdict, step.Reason = override.Verdict, override.Reason
		}
		counts[step] += n
	}
	if o.Scope == slo.ScopeTool {
		s.toolSteps(o, count)
	} else {
		s.agentSteps(o, count)
	}
	r := wholeOf(bounded(counts))
	r.Pending = pending
	return r
}

// overrideSteps is the verdict that every step of the run gets because of what
// the run is; nil when each has its own.
func (s *subject) overrideSteps(o *slo.Objective, excluded string) (*Result, bool) {
	if excluded != "" {
		r := excludedFor(excluded)
		return &r, false
	}
	if o.When == nil {
		return nil, false
	}
	switch applies, err := s.holds(o.When); {
	case err != nil:
		r := unknownFor(conditionReason(err))
		return &r, waitsFor(o, o.When)
	case !applies:
		r := excludedFor(NotApplicable)
		return &r, waitsFor(o, o.When)
	}
	return nil, waitsFor(o, o.When)
}

// toolSteps judges the executed calls. A call of which no span tells has no
// name, so that only an SLO that counts every tool can miss it.
func (s *subject) toolSteps(o *slo.Objective, count func(Step, int64)) {
	for i := range s.Tools {
		t := &s.Tools[i]
		named := o.NamesTool(t.Name)
		if len(o.Tools) > 0 && !named || len(o.Tools) == 0 && !counted(t) {
			continue
		}
		waits := o.SLI == "latency" && slo.HumanWaitTool(t.Name)
		agent := s.file.AgentLabel(t.Agent)
		if !o.AppliesTo(agent, t.Agent) || waits && !named {
			continue
		}
		var r Result
		switch {
		case t.Role == run.NotCounted:
			r = excludedFor(ToolNotCounted)
		case waits:
			r = excludedFor(WaitedForPerson)
		case o.SLI == "latency":
			r = callLatency(o, t)
		default:
			r = callCompletion(t)
		}
		count(Step{Agent: agent, Tool: t.Name, Verdict: r.Verdict, Reason: r.Reason}, 1)
	}
	if agent := s.file.AgentLabel(s.Agent); s.Unseen > 0 && len(o.Tools) == 0 && o.AppliesTo(agent, s.Agent) {
		count(Step{Agent: agent, Verdict: slo.Unknown, Reason: CallsNotSeen}, int64(s.Unseen))
	}
}

// callCompletion: did the tool do what it was called for?
func callCompletion(t *run.ToolCall) Result {
	switch {
	case t.Unfinished:
		return excludedFor(CutShort)
	case t.Failed():
		return badFor(t.Class.String())
	}
	return goodRun()
}

// callLatency: was the tool's result there in time? As of runs, failing fast is
// not being fast.
func callLatency(o *slo.Objective, t *run.ToolCall) Result {
	timed := t.Start > 0 && t.End >= t.Start
	switch {
	case timed && t.End-t.Start > uint64(o.Threshold):
		return badFor(TooSlow)
	case t.Unfinished:
		return excludedFor(CutShort)
	case t.Failed():
		return excludedFor(t.Class.String())
	case !timed:
		return unknownFor(NoDuration)
	}
	return goodRun()
}

// agentSteps judges the work of sub-agents.
func (s *subject) agentSteps(o *slo.Objective, count func(Step, int64)) {
	for i := range s.Invocations {
		v := &s.Invocations[i]
		agent := s.file.AgentLabel(v.Agent)
		if !o.AppliesTo(agent, v.Agent) {
			continue
		}
		// A sub-agent's work is a run of its own, of which only its end and its
		// length are known.
		sub := subject{Run: &run.Run{Outcome: v.Outcome, OutcomeReason: v.Reason, HasRoot: true}, file: s.file}
		if v.Seconds >= 0 {
			sub.Seconds = &v.Seconds
		}
		r := judges[o.SLI](o, &sub)
		if r.Verdict == slo.Good && v.Reason == run.HandedOff {
			r.Reason = HandedOff
		}
		count(Step{Agent: agent, Verdict: r.Verdict, Reason: r.Reason}, 1)
	}
}

// bounded lists the steps, the most frequent first. What is listed depends on
// the steps only, not on their order.
func bounded(counts map[Step]int64) []Step {
	list := listed(counts)
	if len(list) <= maxSteps {
		return list
	}
	folded := map[Step]int64{}
	for i, step := range list {
		n := step.Count
		step.Count = 0
		if i >= maxSteps {
			step.Agent = slo.OverflowValue
			if step.Tool != "" {
				step.Tool = slo.OverflowValue
			}
		}
		folded[step] += n
	}
	return listed(folded)
}

func listed(counts map[Step]int64) []Step {
	list := make([]Step, 0, len(counts))
	for step, n := range counts {
		step.Count = n
		list = append(list, step)
	}
	slices.SortFunc(list, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// wholeOf is what the steps say of the run: the worst verdict among them with
// its most frequent reason. The value is how many were bad.
func wholeOf(steps []Step) Result {
	r := excludedFor(NoSteps)
	var totals [len(slo.Verdicts)]int64
	for i := range steps {
		totals[steps[i].Verdict] += steps[i].Count
	}
	for _, v := range [...]slo.Verdict{slo.Bad, slo.Unknown, slo.Good, slo.Excluded} {
		if totals[v] == 0 {
			continue
		}
		most := slices.IndexFunc(steps, func(x Step) bool { return x.Verdict == v })
		r = Result{Verdict: v, Reason: steps[most].Reason}
		break
	}
	r.Steps = steps
	return r.count(int(totals[slo.Bad]))
}
