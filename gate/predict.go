package gate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/agentslo/agentslo/slo"
)

// Prediction is the success of runs that follows from that of their steps, if
// steps fail independently of each other and every failed step fails its run:
// the product over all steps of (1 − error ratio) ^ (calls a run).
type Prediction struct {
	Scope   slo.Scope       `json:"scope"` // what the steps are: tool calls, or the work of sub-agents
	Success Number          `json:"success"`
	Steps   []PredictedStep `json:"steps"` // the one that costs most first
}

// PredictedStep is one tool or sub-agent.
type PredictedStep struct {
	Name       string `json:"name"`
	Calls      int64  `json:"calls"` // good and bad ones within the window
	Bad        int64  `json:"bad"`
	ErrorRatio Number `json:"error_ratio"`
	PerRun     Number `json:"calls_per_run"`
	Success    Number `json:"success"` // (1 − error ratio) ^ (calls a run)
}

// predictors are the SLOs that say whether steps of that scope succeed.
func predictors(f *slo.File, scope slo.Scope) (list []*slo.Objective) {
	for i := range f.SLOs {
		if o := &f.SLOs[i]; o.SLI == "completion" && o.Scope == scope {
			list = append(list, o)
		}
	}
	return list
}

// Predicts says whether a file's SLO of runs has SLOs of steps to be held
// against: it is the file's first completion SLO.
func Predicts(f *slo.File, o *slo.Objective) bool {
	first := slices.IndexFunc(f.SLOs, func(o slo.Objective) bool { return o.SLI == "completion" && !o.OfSteps() })
	return first >= 0 && o == &f.SLOs[first] && len(predictors(f, slo.ScopeTool))+len(predictors(f, slo.ScopeAgent)) > 0
}

// predict adds to a completion budget what the steps of its runs say.
func (r reader) predict(ctx context.Context, set *slo.Set, b *Budget, over []grid) error {
	runs := b.Good + b.Bad
	if runs == 0 {
		return nil
	}
	for _, scope := range []slo.Scope{slo.ScopeTool, slo.ScopeAgent} {
		objectives := predictors(b.file, scope)
		if len(objectives) == 0 {
			continue
		}
		by := "agent"
		if scope == slo.ScopeTool {
			by = slo.DimensionTool
		}
		h, err := r.read(ctx, counters(set, b.file, objectives, by), over)
		if err != nil {
			return err
		}
		found := map[group][]*series{}
		for _, s := range h.series {
			g := group{string(s.labels["slo"]), string(s.labels[model.LabelName(by)])}
			found[g] = append(found[g], s)
		}
		// A step that several SLOs count is one step: the widest of them counts.
		steps := map[string]account{}
		for g, all := range found {
			a := newLedger(verdicts(all)).sum(b.from, b.at)
			if a.events() > steps[g.value].events() {
				steps[g.value] = a
			}
		}
		if p, ok := predicted(scope, steps, runs); ok {
			b.Predicted = append(b.Predicted, p)
		}
	}
	return nil
}

func predicted(scope slo.Scope, steps map[string]account, runs int64) (Prediction, bool) {
	p := Prediction{Scope: scope}
	success := 1.0
	for name, a := range steps {
		n := a.events()
		share := math.Pow(float64(a.good)/float64(n), float64(n)/float64(runs))
		success *= share
		p.Steps = append(p.Steps, PredictedStep{Name: name, Calls: n, Bad: a.bad, ErrorRatio: *a.errorRatio(&slo.Objective{}),
			PerRun: quotient(whole(n), whole(runs), burnDigits), Success: rounded(share, ratioDigits)})
	}
	p.Success = rounded(success, ratioDigits)
	slices.SortFunc(p.Steps, func(a, b PredictedStep) int {
		return cmp.Or(a.Success.Cmp(b.Success.Decimal), cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Name, b.Name))
	})
	return p, len(p.Steps) > 0
}
