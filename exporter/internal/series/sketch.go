package series

import (
	"math"
	"math/bits"
)

// sketch estimates how many distinct things were asked for, in bounded memory:
// exactly up to sketchExact, then as HyperLogLog (Flajolet et al. 2007) with a
// standard error of 3.25%.
type sketch struct {
	exact     map[uint64]struct{}
	registers []uint8
}

const (
	sketchPrecision = 10
	sketchSize      = 1 << sketchPrecision
	sketchExact     = sketchSize
)

func (s *sketch) add(hash uint64) {
	if s.registers != nil {
		s.register(hash)
		return
	}
	if s.exact == nil {
		s.exact = map[uint64]struct{}{}
	}
	s.exact[hash] = struct{}{}
	if len(s.exact) > sketchExact {
		s.registers = make([]uint8, sketchSize)
		for h := range s.exact {
			s.register(h)
		}
		s.exact = nil
	}
}

func (s *sketch) register(hash uint64) {
	i := hash >> (64 - sketchPrecision)
	rank := uint8(bits.LeadingZeros64(hash<<sketchPrecision|1<<(sketchPrecision-1))) + 1
	s.registers[i] = max(s.registers[i], rank)
}

func (s *sketch) count() float64 {
	if s.registers == nil {
		return float64(len(s.exact))
	}
	sum, empty := 0.0, 0
	for _, r := range s.registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	const m = float64(sketchSize)
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/float64(empty))
	}
	return math.Round(estimate)
}
