package run

import (
	"math"
	"strings"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// rates are a model's prices in trillionths of a US dollar a token: whole
// numbers, so that a run's cost is added up exactly and a run that costs just
// what an SLO allows is not pushed over by rounding.
type rates struct {
	input, cachedInput, cacheWrite, output int64
	known                                  bool
}

type priceKey struct {
	file  *slo.File
	model string
}

// maxPriced bounds how many model names are remembered with their price.
const maxPriced = 10_000

// rates looks a model's price up once.
func (a *Assembler) rates(file *slo.File, model string) rates {
	key := priceKey{file, model}
	if r, ok := a.prices.Load(key); ok {
		return r.(rates)
	}
	var r rates
	if p, ok := file.Price(model); ok {
		perToken := func(input, cachedInput, cacheWrite, output int64) int64 {
			const million = 1_000_000
			return int64(math.Round(p.Cost(input*million, cachedInput*million, cacheWrite*million, output*million) * 1e6))
		}
		r = rates{perToken(1, 0, 0, 0), perToken(1, 1, 0, 0), perToken(1, 0, 1, 0), perToken(0, 0, 0, 1), true}
	}
	if a.priced.Add(1) <= maxPriced {
		key.model = strings.Clone(model)
		a.prices.Store(key, r)
	}
	return r
}

// cost of the usage in trillionths of a US dollar.
func (r rates) cost(u convention.Usage) int64 {
	cached, write := max(u.CachedInput, 0), max(u.CacheWrite, 0)
	return max(u.Input-cached-write, 0)*r.input + cached*r.cachedInput + write*r.cacheWrite + u.Output*r.output
}
