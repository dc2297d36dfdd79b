package run

import (
	"math"

	"github.com/agentslo/agentslo/processor/convention"
)

// rates are a model's prices in trillionths of a US dollar a token: whole
// numbers, so that a run's cost is added up exactly and a run that costs just
// what an SLO allows is not pushed over by rounding.
type rates struct {
	input, cachedInput, cacheWrite, output int64
	known                                  bool
}

// rates looks a model's price up once.
func (l *lists) rates(model string) rates { return l.prices.get(model, l.ratesOf) }

func (l *lists) ratesOf(model string) rates {
	p, ok := l.file.Price(model)
	if !ok {
		return rates{}
	}
	perToken := func(input, cachedInput, cacheWrite, output int64) int64 {
		const million = 1_000_000
		return int64(math.Round(p.Cost(input*million, cachedInput*million, cacheWrite*million, output*million) * 1e6))
	}
	return rates{perToken(1, 0, 0, 0), perToken(1, 1, 0, 0), perToken(1, 0, 1, 0), perToken(0, 0, 0, 1), true}
}

// cost of the usage in trillionths of a US dollar.
func (r rates) cost(u convention.Usage) int64 {
	cached, write := max(u.CachedInput, 0), max(u.CacheWrite, 0)
	return max(u.Input-cached-write, 0)*r.input + cached*r.cachedInput + write*r.cacheWrite + u.Output*r.output
}
