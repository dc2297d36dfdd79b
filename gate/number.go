package gate

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Number is an exact decimal in output: 0.001, never 0.0009999999999999432.
type Number struct{ slo.Decimal }

// MarshalJSON writes a plain JSON number, without exponent.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalJSON reads a JSON number.
func (n *Number) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &n.Decimal) }

// Digits behind the point, where a quotient does not end by itself.
const (
	ratioDigits = 10
	burnDigits  = 6
)

func whole(n int64) slo.Decimal { return decimal.NewFromInt(n) }

func quotient(a, b slo.Decimal, digits int32) Number { return Number{a.DivRound(b, digits)} }

func rounded(v float64, digits int32) Number { return Number{decimal.NewFromFloat(v).Round(digits)} }
