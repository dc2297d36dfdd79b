package summary

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// FailureCount counts a run's failed calls of one tool by their class and by
// what became of them over the run: recovered, intermittent or permanent.
type FailureCount struct {
	Tool, Class, Persistence string
	Count                    int64
}

// EffectCount counts the calls of one write tool that did again what an earlier
// one of the run had done.
type EffectCount struct {
	Tool  string
	Count int64
}

// FirstWrong is the first step of the run that went wrong.
type FirstWrong struct {
	What   string // failed_call, failed_model_call, empty_retrieval or repeated_call
	Name   string // of the tool or the model; "" where it has none
	Class  string // of a failure
	Step   int64  // among the run's model calls, tool calls and retrievals, from 1
	SpanID pcommon.SpanID
}

// Blocker is the first permanent failure that nothing got round, and what came
// after it.
type Blocker struct {
	Tool, Class string
	Steps       int64    // model and tool calls that began after it
	Seconds     *float64 // from there to the end of the run
	USD         *float64 // spent after it; nil when not known
}

// putFailures adds what failed and what the agent did about it.
func putFailures(m pcommon.Map, s *Summary) {
	for _, c := range s.ToolFailures {
		add(m, attrToolFailures+c.Class+"."+c.Persistence+"."+c.Tool, c.Count)
	}
	for _, c := range s.DuplicateEffects {
		add(m, attrDuplicates+c.Tool, c.Count)
	}
	text := func(name, value string) {
		if value != "" {
			m.PutStr(name, value)
		}
	}
	amount := func(name string, v *float64) {
		if v != nil && isAmount(*v) {
			m.PutDouble(name, *v)
		}
	}
	if x := s.FirstWrong; x != nil && x.What != "" && x.Step >= 0 {
		m.PutStr(attrFirstWrong, x.What)
		text(attrFirstWrongName, x.Name)
		text(attrFirstWrongClass, x.Class)
		m.PutInt(attrFirstWrongStep, x.Step)
		if !x.SpanID.IsEmpty() {
			m.PutStr(attrFirstWrongSpan, x.SpanID.String())
		}
	}
	if x := s.Blocker; x != nil && x.Steps >= 0 {
		m.PutStr(attrBlockerTool, x.Tool)
		text(attrBlockerClass, x.Class)
		m.PutInt(attrBlockerSteps, x.Steps)
		amount(attrBlockerSeconds, x.Seconds)
		amount(attrBlockerUSD, x.USD)
	}
}

// failures reads an attribute that putFailures writes; ok is false for others.
func (p *parser) failures(name string, v pcommon.Value) (ok bool, err error) {
	s := p.summary
	first := func() *FirstWrong {
		if s.FirstWrong == nil {
			s.FirstWrong = &FirstWrong{}
		}
		return s.FirstWrong
	}
	blocker := func() *Blocker {
		if s.Blocker == nil {
			s.Blocker = &Blocker{}
		}
		return s.Blocker
	}
	switch name {
	case attrFirstWrong:
		return true, text(&first().What, v)
	case attrFirstWrongName:
		return true, text(&first().Name, v)
	case attrFirstWrongClass:
		return true, text(&first().Class, v)
	case attrFirstWrongStep:
		first().Step, err = count(v)
		return true, err
	case attrFirstWrongSpan:
		return true, spanID(&first().SpanID, v)
	case attrBlockerTool:
		p.hasBlocker = true
		return true, text(&blocker().Tool, v)
	case attrBlockerClass:
		return true, text(&blocker().Class, v)
	case attrBlockerSteps:
		blocker().Steps, err = count(v)
		return true, err
	case attrBlockerSeconds:
		blocker().Seconds, err = amount(v)
		return true, err
	case attrBlockerUSD:
		blocker().USD, err = amount(v)
		return true, err
	}
	if rest, ok := strings.CutPrefix(name, attrToolFailures); ok {
		class, rest, first := strings.Cut(rest, ".")
		persistence, tool, second := strings.Cut(rest, ".")
		if !first || !second {
			return true, errors.New("is of no class, persistence and tool")
		}
		n, err := count(v)
		s.ToolFailures = append(s.ToolFailures, FailureCount{Tool: valid(tool), Class: valid(class), Persistence: valid(persistence), Count: n})
		return true, err
	}
	if tool, ok := strings.CutPrefix(name, attrDuplicates); ok {
		n, err := count(v)
		s.DuplicateEffects = append(s.DuplicateEffects, EffectCount{Tool: valid(tool), Count: n})
		return true, err
	}
	return false, nil
}

// finishFailures drops what lacks its head.
func (p *parser) finishFailures() {
	if x := p.summary.FirstWrong; x != nil && x.What == "" {
		p.summary.FirstWrong = nil
	}
	if !p.hasBlocker {
		p.summary.Blocker = nil
	}
}

func spanID(to *pcommon.SpanID, v pcommon.Value) error {
	if v.Type() != pcommon.ValueTypeStr {
		return wrongType(v, "a string")
	}
	if len(v.Str()) != 2*len(to) {
		return fmt.Errorf("has %d characters, not %d hex digits", len(v.Str()), 2*len(to))
	}
	_, err := hex.Decode(to[:], []byte(v.Str()))
	return err
}
