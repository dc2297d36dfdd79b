package series

import (
	"time"

	"github.com/agentslo/agentslo/processor/sli"
)

// waste is what runs spent to no avail, by cause. Causes overlap: their sum means
// nothing.
type waste struct{ calls, tokens, usd, seconds *counters }

func newWaste(limit int, with func(more ...string) []string) waste {
	family := func(name, help string) *counters {
		return newCounters(name, help, limit, false, with("cause"), []string{"agent", "environment", "slo_service", "cause"})
	}
	return waste{
		calls: newCounters("agentslo_wasted_calls_total", "Tool and model calls that brought nothing, or came when nobody waited any more.", limit, false,
			with("cause", "tool"), []string{"tool", "agent", "environment", "slo_service", "cause"}),
		tokens:  family("agentslo_wasted_tokens_total", "Tokens of wasted model calls, as far as known."),
		usd:     family("agentslo_wasted_usd_total", "Cost of wasted model calls in US dollars, as far as known.").inBillionths(),
		seconds: family("agentslo_wasted_seconds_total", "Time in which a wasted call ran.").inBillionths(),
	}
}

func (f *waste) count(w *sli.Waste, now time.Time, service, environment, agent string) {
	cause := label(w.Cause)
	for _, c := range w.Calls {
		f.calls.add(now, uint64(c.Count), service, environment, agent, cause, label(c.Tool))
	}
	f.tokens.add(now, uint64(w.Tokens), service, environment, agent, cause)
	f.usd.addAmount(now, w.USD, service, environment, agent, cause)
	f.seconds.addAmount(now, w.Seconds, service, environment, agent, cause)
}
