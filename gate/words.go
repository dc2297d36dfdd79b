package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

var hundred = decimal.NewFromInt(100)

// percent is an exact fraction as a person writes it: 99.9%.
func percent(fraction slo.Decimal) string { return fraction.Mul(hundred).String() + "%" }

// percentOf is a measured fraction, rounded to what a person can use.
func percentOf(fraction slo.Decimal) string { return short(fraction.Mul(hundred)) + "%" }

// short rounds to two significant digits behind the integers, without trailing zeros.
func short(d slo.Decimal) string {
	places := int32(2)
	if d.Abs().GreaterThanOrEqual(decimal.NewFromInt(10)) {
		places = 1
	}
	if rounded := d.Round(places); !rounded.IsZero() || d.IsZero() {
		return rounded.String()
	}
	return d.Round(6).String()
}

// group3 writes an integer with commas: 12,345.
func group3(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func countOf(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return group3(n) + " " + what + "s"
}

// wordsFor is a length of time in days or hours.
func wordsFor(d time.Duration) string {
	if d >= 48*time.Hour {
		return countOf(int64(d/(24*time.Hour)), "day")
	}
	return countOf(int64(d/time.Hour), "hour")
}
