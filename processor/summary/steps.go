package summary

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// Keys of the maps that [attrSteps] lists.
const (
	stepAgent   = "agent"
	stepTool    = "tool"
	stepVerdict = "verdict"
	stepReason  = "reason"
	stepCount   = "count"
)

func putSteps(list pcommon.Slice, steps []sli.Step) {
	list.EnsureCapacity(len(steps))
	for i := range steps {
		step := &steps[i]
		m := list.AppendEmpty().SetEmptyMap()
		m.EnsureCapacity(5)
		for _, x := range [...]struct{ name, value string }{{stepAgent, step.Agent}, {stepTool, step.Tool}, {stepReason, step.Reason}} {
			if x.value != "" {
				m.PutStr(x.name, x.value)
			}
		}
		m.PutStr(stepVerdict, step.Verdict.String())
		m.PutInt(stepCount, step.Count)
	}
}

// stepsOf reads what [putSteps] wrote. Keys that this version does not know are
// ignored.
func stepsOf(v pcommon.Value) ([]sli.Step, error) {
	if v.Type() != pcommon.ValueTypeSlice {
		return nil, wrongType(v, "a list")
	}
	steps := make([]sli.Step, 0, v.Slice().Len())
	for _, item := range v.Slice().All() {
		if item.Type() != pcommon.ValueTypeMap {
			return nil, fmt.Errorf("an item %w", wrongType(item, "a map"))
		}
		step, err := stepOf(item.Map())
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func stepOf(m pcommon.Map) (step sli.Step, err error) {
	hasVerdict := false
	for name, v := range m.All() {
		switch name {
		case stepAgent:
			err = text(&step.Agent, v)
		case stepTool:
			err = text(&step.Tool, v)
		case stepReason:
			err = text(&step.Reason, v)
		case stepVerdict:
			var word string
			if err = text(&word, v); err == nil {
				if step.Verdict, hasVerdict = slo.ParseVerdict(word); !hasVerdict {
					err = fmt.Errorf("%.100q is no verdict", word)
				}
			}
		case stepCount:
			step.Count, err = count(v)
		}
		if err != nil {
			return step, fmt.Errorf("%s: %w", name, err)
		}
	}
	if !hasVerdict {
		return step, errors.New("a step without a verdict")
	}
	return step, nil
}
