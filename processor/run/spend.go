package run

import (
	"math"

	"github.com/agentslo/agentslo/processor/convention"
)

// spend lists what each model call took. What a span around several calls says
// it used goes to the first of them.
func (b *assembly) spend() {
	if len(b.calls) == 0 {
		return
	}
	r := b.run
	r.Spend = make([]Spend, 0, len(b.calls))
	taken := int32(-1) // the span whose usage was given to a call below it last
	for _, i := range b.calls {
		s := &b.spans[i]
		x := Spend{Message: b.askedIn(i), Start: s.Start, End: s.End, Tokens: convention.Unknown, USD: math.NaN()}
		use := i
		for b.inside(use) && !b.spans[use].isUse {
			if use = b.spans[use].parent; b.inside(use) && (b.spans[use].Kind == convention.Agent || b.spans[use].Kind == convention.Tool) {
				use = -1 // of a whole agent, not of a call
			}
		}
		if b.inside(use) && (use == i || use != taken) {
			if use != i {
				taken = use
			}
			u := &b.spans[use]
			if u.Usage.Input >= 0 && u.Usage.Output >= 0 {
				x.Tokens = u.Usage.Input + u.Usage.Output
			}
			if p := b.lists.rates(u.ModelName); p.known && x.Tokens >= 0 {
				x.USD = float64(p.cost(u.Usage)) / 1e12
			}
		}
		if s.priced {
			x.USD = s.CostUSD
		}
		r.Spend = append(r.Spend, x)
	}
}

// askedIn is the message under which tools were called by a model call: its
// own, or that of a model span round it, where emitters hang the tools there.
func (b *assembly) askedIn(i int32) uint64 {
	own := b.messageOf(i)
	for p := b.spans[i].parent; b.inside(p); p = b.spans[p].parent {
		switch b.spans[p].Kind {
		case convention.Agent, convention.Tool:
			return own
		case convention.Model:
			if b.asking == nil {
				b.asking = make(map[uint64]bool, len(b.run.Tools))
				for k := range b.run.Tools {
					b.asking[b.run.Tools[k].Message] = true
				}
			}
			if outer := b.messageOf(p); !b.asking[own] && b.asking[outer] {
				return outer
			}
		}
	}
	return own
}
