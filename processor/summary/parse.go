package summary

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// ErrMalformed is wrapped by every error of [Parse].
var ErrMalformed = errors.New("malformed summary span")

// Parse reads a summary span. It refuses one that is not whole or says what
// cannot be, such as a negative count, so that the exporter may add up what it
// gets. Attributes that this version does not know are ignored. The summary
// does not alias the span.
func Parse(span ptrace.Span) (*Summary, error) {
	s := &Summary{
		TraceID: span.TraceID(), RootSpanID: span.ParentSpanID(), SpanID: span.SpanID(),
		Start: uint64(span.StartTimestamp()), End: uint64(span.EndTimestamp()),
	}
	if s.SpanID.IsEmpty() {
		return nil, fmt.Errorf("%w: no span id", ErrMalformed)
	}
	p := parser{summary: s}
	for name, value := range span.Attributes().All() {
		if err := p.attribute(name, value); err != nil {
			return nil, fmt.Errorf("%w: attribute %.100q: %w", ErrMalformed, name, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return s, nil
}

type parser struct {
	summary           *Summary
	hasRun, hasMatch  bool
	hasBlocker        bool
	reasons, measured []slot // that came, by SLO
	steps             []slot
}

// slot holds what belongs to a verdict that may come later.
type slot struct {
	slo, reason string
	value       float64
	steps       []sli.Step
}

func (p *parser) attribute(name string, v pcommon.Value) (err error) {
	s := p.summary
	switch name {
	case attrRun:
		p.hasRun = true
		return runID(&s.Run, v)
	case attrFirst:
		return boolean(&s.First, v)
	case attrMatched:
		p.hasMatch = true
		return boolean(&s.Matched, v)
	case attrService:
		return text(&s.Service, v)
	case attrEnvironment:
		return text(&s.Environment, v)
	case attrAgent:
		return text(&s.Agent, v)
	case attrOutcome:
		return text(&s.Outcome, v)
	case attrCompletion:
		return text(&s.Completion, v)
	case attrExcluded:
		return text(&s.Excluded, v)
	case attrDuration:
		s.DurationSeconds, err = amount(v)
		return err
	case attrCost:
		s.CostUSD, err = amount(v)
		return err
	case attrModelCalls:
		n, err := count(v)
		calls := int(n)
		s.ModelCalls = &calls
		return err
	case attrFailovers:
		s.Failovers, err = count(v)
		return err
	case attrBiased:
		return boolean(&s.Biased, v)
	case attrSampling:
		probability, err := amount(v)
		if err == nil && *probability > 1 {
			err = fmt.Errorf("a probability of %v", *probability)
		}
		if err == nil {
			s.SamplingProbability = *probability
		}
		return err
	}
	return p.named(name, v)
}

// named reads an attribute whose name ends in the name of something.
func (p *parser) named(name string, v pcommon.Value) error {
	s := p.summary
	if ok, err := p.failures(name, v); ok {
		return err
	}
	switch {
	case strings.HasPrefix(name, attrVerdict):
		return p.verdict(name[len(attrVerdict):], v)
	case strings.HasPrefix(name, attrReason):
		reason := slot{slo: valid(name[len(attrReason):])}
		if err := text(&reason.reason, v); err != nil {
			return err
		}
		p.reasons = append(p.reasons, reason)
	case strings.HasPrefix(name, attrValue):
		measured := slot{slo: valid(name[len(attrValue):])}
		if err := number(&measured.value, v); err != nil {
			return err
		}
		p.measured = append(p.measured, measured)
	case strings.HasPrefix(name, attrSteps):
		steps, err := stepsOf(v)
		p.steps = append(p.steps, slot{slo: valid(name[len(attrSteps):]), steps: steps})
		return err
	case strings.HasPrefix(name, attrDimension):
		var value string
		if err := text(&value, v); err != nil {
			return err
		}
		if s.Dimensions == nil {
			s.Dimensions = map[string]string{}
		}
		s.Dimensions[valid(name[len(attrDimension):])] = value
	case strings.HasPrefix(name, attrToolCalls):
		result, tool, n, err := counted(name[len(attrToolCalls):], v)
		s.ToolCalls = append(s.ToolCalls, ToolCount{Tool: tool, Result: result, Count: n})
		return err
	case strings.HasPrefix(name, attrFaults):
		fault, model, n, err := counted(name[len(attrFaults):], v)
		s.Faults = append(s.Faults, FaultCount{Model: model, Fault: fault, Count: n})
		return err
	case strings.HasPrefix(name, attrSignals):
		n, err := count(v)
		s.Signals = append(s.Signals, SignalCount{valid(name[len(attrSignals):]), n})
		return err
	case strings.HasPrefix(name, attrWasted):
		return p.waste(name[len(attrWasted):], v)
	case strings.HasPrefix(name, attrTokens):
		kind, model, n, err := counted(name[len(attrTokens):], v)
		s.Tokens = append(s.Tokens, TokenCount{Model: model, Type: kind, Count: n})
		return err
	}
	return nil
}

// What was wasted, behind attrWasted.
const (
	wastedCalls   = "calls."
	wastedTokens  = "tokens."
	wastedUSD     = "usd."
	wastedSeconds = "seconds."
)

// waste reads one number of what was wasted for a cause.
func (p *parser) waste(name string, v pcommon.Value) (err error) {
	switch {
	case strings.HasPrefix(name, wastedCalls):
		cause, tool, n, err := counted(name[len(wastedCalls):], v)
		if err != nil {
			return err
		}
		w := p.wasted(cause)
		w.Calls = append(w.Calls, sli.ToolCalls{Tool: tool, Count: n})
	case strings.HasPrefix(name, wastedTokens):
		p.wasted(valid(name[len(wastedTokens):])).Tokens, err = count(v)
	case strings.HasPrefix(name, wastedUSD):
		err = amountTo(&p.wasted(valid(name[len(wastedUSD):])).USD, v)
	case strings.HasPrefix(name, wastedSeconds):
		err = amountTo(&p.wasted(valid(name[len(wastedSeconds):])).Seconds, v)
	}
	return err
}

// wasted is the place for what was wasted for a cause.
func (p *parser) wasted(cause string) *sli.Waste {
	for i := range p.summary.Waste {
		if w := &p.summary.Waste[i]; w.Cause == cause {
			return w
		}
	}
	p.summary.Waste = append(p.summary.Waste, sli.Waste{Cause: cause})
	return &p.summary.Waste[len(p.summary.Waste)-1]
}

func amountTo(to *float64, v pcommon.Value) error {
	n, err := amount(v)
	if err == nil {
		*to = *n
	}
	return err
}

func (p *parser) verdict(name string, v pcommon.Value) error {
	if name == "" {
		return errors.New("names no SLO")
	}
	var word string
	if err := text(&word, v); err != nil {
		return err
	}
	verdict, ok := slo.ParseVerdict(word)
	if !ok {
		return fmt.Errorf("%.100q is no verdict", word)
	}
	name = valid(name)
	if slices.ContainsFunc(p.summary.Results, func(r sli.Result) bool { return r.SLO == name }) {
		return errors.New("a second verdict on one SLO")
	}
	p.summary.Results = append(p.summary.Results, sli.Result{SLO: name, Verdict: verdict})
	return nil
}

// finish joins what may come in any order.
func (p *parser) finish() error {
	switch {
	case !p.hasRun:
		return fmt.Errorf("no %s", attrRun)
	case !p.hasMatch:
		return fmt.Errorf("no %s", attrMatched)
	}
	p.finishFailures()
	for _, r := range p.reasons {
		if result := p.result(r.slo); result != nil {
			result.Reason = r.reason
		}
	}
	for i := range p.steps {
		if result := p.result(p.steps[i].slo); result != nil {
			result.Steps = p.steps[i].steps
		}
	}
	for i := range p.measured {
		if result := p.result(p.measured[i].slo); result != nil {
			result.Value = &p.measured[i].value
		}
	}
	return nil
}

func (p *parser) result(name string) *sli.Result {
	for i := range p.summary.Results {
		if p.summary.Results[i].SLO == name {
			return &p.summary.Results[i]
		}
	}
	return nil
}

func wrongType(v pcommon.Value, want string) error {
	return fmt.Errorf("is %s, not %s", v.Type(), want)
}

// valid makes text that Prometheus takes as a label value.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func text(to *string, v pcommon.Value) error {
	if v.Type() != pcommon.ValueTypeStr {
		return wrongType(v, "a string")
	}
	*to = valid(v.Str())
	return nil
}

func boolean(to *bool, v pcommon.Value) error {
	if v.Type() != pcommon.ValueTypeBool {
		return wrongType(v, "a bool")
	}
	*to = v.Bool()
	return nil
}

func number(to *float64, v pcommon.Value) error {
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		*to = v.Double()
	case pcommon.ValueTypeInt: // some JSON writers drop the .0
		*to = float64(v.Int())
	default:
		return wrongType(v, "a number")
	}
	if !finite(*to) {
		return fmt.Errorf("%v is not finite", *to)
	}
	return nil
}

// amount is a number that cannot be negative.
func amount(v pcommon.Value) (*float64, error) {
	n := new(float64)
	if err := number(n, v); err != nil {
		return nil, err
	}
	if *n < 0 {
		return nil, fmt.Errorf("%v is negative", *n)
	}
	return n, nil
}

func count(v pcommon.Value) (int64, error) {
	if v.Type() != pcommon.ValueTypeInt {
		return 0, wrongType(v, "an integer")
	}
	if v.Int() < 0 {
		return 0, fmt.Errorf("%d is negative", v.Int())
	}
	return v.Int(), nil
}

// counted reads a count of kind, a dot, and a name that may have dots itself.
func counted(name string, v pcommon.Value) (kind, of string, n int64, err error) {
	kind, of, ok := strings.Cut(name, ".")
	if !ok || kind == "" {
		return "", "", 0, errors.New("names nothing that it counts")
	}
	n, err = count(v)
	return valid(kind), valid(of), n, err
}

func runID(to *[16]byte, v pcommon.Value) error {
	if v.Type() != pcommon.ValueTypeStr {
		return wrongType(v, "a string")
	}
	if len(v.Str()) != 2*len(to) {
		return fmt.Errorf("has %d characters, not %d hex digits", len(v.Str()), 2*len(to))
	}
	if _, err := hex.Decode(to[:], []byte(v.Str())); err != nil {
		return err
	}
	return nil
}
