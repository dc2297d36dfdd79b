package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

var (
	hundred = decimal.NewFromInt(100)
	one     = decimal.NewFromInt(1)
)

// percent writes a share of one. It never rounds to 0%, 100% or an exact
// value that it is not: a budget of 99.97% is not whole.
func percent(share decimal.Decimal) string {
	p := share.Mul(hundred)
	places := int32(1)
	if p.Abs().GreaterThanOrEqual(hundred) {
		places = 0
	}
	r := p.Truncate(places)
	if p.Abs().GreaterThan(hundred) {
		r = p.Round(places) // as the command line does; nothing here is close to whole
	}
	if r.IsZero() && !p.IsZero() {
		if p.IsNegative() {
			return "−<0.1%"
		}
		return "<0.1%"
	}
	return minus(r.String()) + "%"
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// times writes a burn rate.
func times(d decimal.Decimal) string {
	places := int32(1)
	if d.GreaterThanOrEqual(decimal.NewFromInt(10)) {
		places = 0
	}
	r := d.Round(places)
	if r.IsZero() && d.IsPositive() {
		return "<0.1×"
	}
	if r.IsZero() {
		return "0×"
	}
	return r.StringFixed(places) + "×"
}

// count writes an integer with thin spaces between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// span writes a duration with its two largest units.
func span(d time.Duration) string {
	if d < time.Second {
		return "<1 s"
	}
	var parts []string
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / u.length; n > 0 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			d -= n * u.length
		} else if len(parts) > 0 {
			break
		}
	}
	return strings.Join(parts, " ")
}

func ago(now, t time.Time) string {
	if d := now.Sub(t); d >= time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// sentence says what an SLO asks, in words.
func sentence(o *slo.Objective) string {
	share := o.Target.Mul(hundred).String() + "% of " + o.EventName() + "s "
	if len(o.Tools) > 0 {
		share = o.Target.Mul(hundred).String() + "% of calls of " + strings.Join(o.Tools, ", ") + " "
	}
	switch o.SLI {
	case "completion":
		if o.Scope == slo.ScopeTool {
			return share + "succeed"
		}
		return share + "come to a proper end"
	case "correctness":
		return share + "are judged correct"
	case "latency":
		if o.Measure == slo.MeasureFirstToken {
			return share + "show a first token within " + o.Threshold.String()
		}
		return share + "take at most " + o.Threshold.String()
	case "grounding":
		return share + "answer with what they retrieved"
	case "cost":
		return share + "cost at most $" + o.MaxUSD.String()
	case "tool_free":
		return share + "rest their answer on a tool call that worked"
	case "no_progress":
		return share + "do not go in circles"
	case "abstention":
		return share + "are answered"
	case "abandoned_spend":
		return share + "begin nothing once nobody waits"
	case "retry_discipline":
		return share + "with a failed tool call retry with discipline"
	case "duplicate_effects":
		return share + "with an effect have it once"
	case "stuck_after_blocker":
		return share + "with a blocker stop soon after it"
	case "handoff":
		return share + "handed to a person are handed over well"
	case "forbidden_actions":
		return share + "do nothing that is forbidden"
	case "custom":
		if o.Good != nil {
			return share + "satisfy " + o.Good.Source
		}
	}
	return share + "are good"
}

// words of an identifier such as all_calls_failed.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }
