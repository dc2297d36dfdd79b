package processor

import (
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/processor/summary"
)

// failures puts into the summary what failed in the run and what the agent did
// about it.
func (j *Judged) failures(s *summary.Summary) {
	r := j.Run
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Role != run.Evidence && t.Role != run.Counted || !t.Failed() || t.Unfinished {
			continue
		}
		c := summary.FailureCount{Tool: t.Name, Class: t.Class.String(), Persistence: t.Persistence.String()}
		k := slices.IndexFunc(s.ToolFailures, func(x summary.FailureCount) bool {
			return x.Tool == c.Tool && x.Class == c.Class && x.Persistence == c.Persistence
		})
		if k < 0 {
			s.ToolFailures = append(s.ToolFailures, c)
			k = len(s.ToolFailures) - 1
		}
		s.ToolFailures[k].Count++
	}
	for _, d := range sli.Duplicates(j.File, r) {
		s.DuplicateEffects = append(s.DuplicateEffects, summary.EffectCount{Tool: d.Tool, Count: int64(d.Count)})
	}
	if x := r.FirstWrong; x != nil {
		s.FirstWrong = &summary.FirstWrong{What: x.What, Name: x.Name, Class: failureClass(x.Class), Step: int64(x.Step), SpanID: x.SpanID}
	}
	if x := r.Blocker; x != nil && !x.Doubtful {
		s.Blocker = &summary.Blocker{Tool: x.Tool, Class: failureClass(x.Class), Steps: int64(x.Steps), Seconds: &x.Seconds, USD: x.USD}
	}
}

// failureClass is the class's label value, "" where nothing failed.
func failureClass(c convention.Class) string {
	if c == convention.ClassNone {
		return ""
	}
	return c.String()
}

// FirstWrongReport is the first step of a run that went wrong.
type FirstWrongReport struct {
	What   string `json:"what"` // failed_call, failed_model_call, empty_retrieval or repeated_call
	Name   string `json:"name"` // of the tool or the model
	Class  string `json:"class,omitempty"`
	Step   int    `json:"step"` // among model calls, tool calls and retrievals, from 1
	SpanID string `json:"span_id"`
}

// BlockerReport is the first permanent failure that nothing got round, and what
// came after it.
type BlockerReport struct {
	Tool         string   `json:"tool"`
	Class        string   `json:"class"`
	StepsAfter   int      `json:"steps_after"`
	SecondsAfter *float64 `json:"seconds_after"`
	USDAfter     *float64 `json:"cost_usd_after"`
}

func firstWrongReport(x *run.FirstWrong) *FirstWrongReport {
	if x == nil {
		return nil
	}
	return &FirstWrongReport{x.What, x.Name, failureClass(x.Class), x.Step, x.SpanID.String()}
}

func blockerReport(x *run.Blocker) *BlockerReport {
	if x == nil || x.Doubtful {
		return nil
	}
	return &BlockerReport{x.Tool, failureClass(x.Class), x.Steps, rounded(&x.Seconds, 1e6), rounded(x.USD, 1e9)}
}
