package convention

import (
	"math/bits"
	"strings"
)

// readUsage takes all counts from one vocabulary: the span's own if it has any.
func (f *Facts) readUsage(r *reading) {
	f.readCost(r)
	m := r.mask[slotInput] | r.mask[slotOutput]
	if m == 0 {
		return
	}
	if m&r.own != 0 {
		m = r.own
	} else if m &^= private; m == 0 {
		return
	}
	id := vocabularyID(bits.TrailingZeros32(m))
	get := func(s slot) int64 {
		if v, ok := r.from(id, s); ok {
			return count(v)
		}
		return Unknown
	}
	u := &f.Usage
	u.Input, u.Output = get(slotInput), get(slotOutput)
	u.CachedInput, u.CacheWrite, u.Reasoning = get(slotCacheRead), get(slotCacheWrite), get(slotReasoning)
	total := get(slotTotal)
	if id == otelGenAI || id == vercel {
		// Details that another vocabulary adds to the same counts.
		if u.CachedInput == Unknown {
			u.CachedInput = r.count(slotCacheRead)
		}
		if u.Reasoning == Unknown {
			u.Reasoning = r.count(slotReasoning)
		}
	}
	r.proved = u.include(total)
	if (r.scope.exclusive || f.Kind == Agent && claudeQuery(r)) && !r.proved {
		// Input leaves out cached tokens; without their number it is not known.
		if u.CachedInput == Unknown && u.CacheWrite == Unknown {
			u.Input = Unknown
		} else if u.Input != Unknown {
			u.Input += max(u.CachedInput, 0) + max(u.CacheWrite, 0)
		}
	}
}

// include adds cached input and reasoning where the counts themselves prove
// that input and output leave them out. It reports whether it did so to input.
func (u *Usage) include(total int64) bool {
	cached := max(u.CachedInput, 0) + max(u.CacheWrite, 0)
	proved := u.Input != Unknown && cached > u.Input
	if proved {
		u.Input += cached
	}
	if u.Output != Unknown && u.Reasoning > 0 &&
		(u.Reasoning > u.Output || total != Unknown && u.Input != Unknown && total == u.Input+u.Output+u.Reasoning) {
		u.Output += u.Reasoning
	}
	return proved
}

// maxUSD bounds a cost in USD: what is above is no cost of one span.
const maxUSD = 1e7

func (f *Facts) readCost(r *reading) {
	if r.mask[slotCost]|r.mask[slotCostJSON]|r.mask[slotCostInput]|r.mask[slotCostOutput] == 0 {
		return
	}
	if r.has(slotCost) {
		if c := r.text(slotCostCurrency); c == "" || strings.EqualFold(c, "USD") {
			f.CostUSD = r.positive(slotCost, maxUSD)
		}
		return
	}
	if raw := r.text(slotCostJSON); raw != "" {
		for _, key := range [...]string{"total", "total_cost"} {
			if v := member(raw, key); v != "" {
				f.CostUSD = positiveText(v, maxUSD)
				return
			}
		}
	}
	in, out := r.positive(slotCostInput, maxUSD), r.positive(slotCostOutput, maxUSD)
	f.CostUSD = in + out // NaN unless both are known
}
