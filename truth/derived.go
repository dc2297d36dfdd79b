package truth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Derived is one object of derive's JSON output: what was read of one run.
type Derived struct {
	Run           string    `json:"run"`
	TraceID       string    `json:"trace_id"`
	Service       string    `json:"service"`
	Environment   string    `json:"environment"`
	Agent         string    `json:"agent"`
	Outcome       string    `json:"outcome"`
	OutcomeReason string    `json:"outcome_reason"`
	Completion    string    `json:"completion"`
	Start         time.Time `json:"start"`
	Duration      *float64  `json:"duration_seconds"`
	ModelCalls    *int64    `json:"model_calls"`
	ToolCalls     struct {
		OK     *int64           `json:"ok"`
		Failed map[string]int64 `json:"failed"`
		Unseen int64            `json:"unseen"`
	} `json:"tool_calls"`
	Tokens struct {
		Input       *int64 `json:"input"`
		CachedInput *int64 `json:"cached_input"`
		CacheWrite  *int64 `json:"cache_write"`
		Output      *int64 `json:"output"`
		Reasoning   *int64 `json:"reasoning"`
	} `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
	SLOs    map[string]struct {
		Verdict string   `json:"verdict"`
		Reason  string   `json:"reason"`
		Value   *float64 `json:"value"`
	} `json:"slos"`
}

// ReadDerived reads derive's JSON lines, and gives the runs in order of start.
func ReadDerived(output []byte) ([]Derived, error) {
	var runs []Derived
	lines := json.NewDecoder(bytes.NewReader(output))
	for {
		var run Derived
		switch err := lines.Decode(&run); err {
		case nil:
			runs = append(runs, run)
		case io.EOF:
			slices.SortStableFunc(runs, func(a, b Derived) int { return a.Start.Compare(b.Start) })
			return runs, nil
		default:
			return nil, fmt.Errorf("run %d of derive's output: %w", len(runs)+1, err)
		}
	}
}

// Fact is the run's value of a fact, as text.
func (d *Derived) Fact(name string) string {
	switch name {
	case "agent":
		return d.Agent
	case "outcome":
		return d.Outcome
	case "outcome_reason":
		return d.OutcomeReason
	case "completion":
		return d.Completion
	case "duration_seconds":
		return float(d.Duration)
	case "model_calls":
		return integer(d.ModelCalls)
	case "tool_calls.ok":
		return integer(d.ToolCalls.OK)
	case "tool_calls.failed":
		total := int64(0)
		for _, n := range d.ToolCalls.Failed {
			total += n
		}
		return strconv.FormatInt(total, 10)
	case "tool_calls.class":
		return Classes(d.ToolCalls.Failed)
	case "tokens.input":
		return integer(d.Tokens.Input)
	case "tokens.cached_input":
		return integer(d.Tokens.CachedInput)
	case "tokens.output":
		return integer(d.Tokens.Output)
	case "tokens.reasoning":
		return integer(d.Tokens.Reasoning)
	case "cost_usd":
		return float(d.CostUSD)
	case "slo.tool_free.reason":
		return d.SLOs["tool_free"].Reason
	}
	if slo, ok := d.SLOs[name[len("slo."):]]; ok {
		return slo.Verdict
	}
	return "absent"
}

func integer(value *int64) string {
	if value == nil {
		return Null
	}
	return strconv.FormatInt(*value, 10)
}

func float(value *float64) string {
	if value == nil {
		return Null
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}
