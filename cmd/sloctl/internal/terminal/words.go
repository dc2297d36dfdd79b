package terminal

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

var hundred = decimal.NewFromInt(100)

// Percent writes a measured fraction of one for people: 99.9%, -1,400%. Digits
// that nobody can use are rounded away, but never so that what is not all or
// nothing looks like it.
func Percent(fraction decimal.Decimal) string {
	p := fraction.Mul(hundred)
	if text := Decimal(p); text != "100" && text != "0" || p.Equal(hundred) || p.IsZero() {
		return text + "%"
	}
	for places := int32(2); places < 8; places++ {
		if r := p.Round(places); !r.Equal(hundred) && !r.IsZero() {
			return r.String() + "%"
		}
	}
	return p.String() + "%"
}

// ExactPercent writes a fraction that a file names, such as 99.99%.
func ExactPercent(fraction decimal.Decimal) string { return fraction.Mul(hundred).String() + "%" }

// Decimal rounds to three significant digits, or to whole numbers above 100.
func Decimal(d decimal.Decimal) string {
	places := int32(0)
	switch size := d.Abs(); {
	case size.IsZero() || size.GreaterThanOrEqual(hundred):
	case size.GreaterThanOrEqual(decimal.NewFromInt(10)):
		places = 1
	case size.GreaterThanOrEqual(decimal.NewFromInt(1)):
		places = 2
	default:
		places = 3
		for size.LessThan(decimal.New(1, -1)) && places < 7 {
			size, places = size.Shift(1), places+1
		}
	}
	if n := d.Round(places); n.Equal(n.Truncate(0)) {
		return Integer(n.IntPart())
	}
	return d.Round(places).String()
}

// Integer groups digits by threes: 12,345.
func Integer(n int64) string {
	s, sign := strconv.FormatInt(n, 10), ""
	if strings.HasPrefix(s, "-") {
		s, sign = s[1:], "-"
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Seconds writes a length of time in its two largest units: 2d 4h.
func Seconds(n int64) string {
	units := []struct {
		name    string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	for i, u := range units {
		if n < u.seconds {
			continue
		}
		out := strconv.FormatInt(n/u.seconds, 10) + u.name
		if i+1 < len(units) {
			if next := n % u.seconds / units[i+1].seconds; next > 0 && n/u.seconds < 10 {
				out += " " + strconv.FormatInt(next, 10) + units[i+1].name
			}
		}
		return out
	}
	return "0s"
}

// Duration is [Seconds] of a duration.
func Duration(d time.Duration) string { return Seconds(int64(d / time.Second)) }
