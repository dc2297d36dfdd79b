package slo

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"
)

var one = decimal.NewFromInt(1)

// plainNumber has a short exponent at most: 1e999999999 as an exact decimal
// would fill the memory.
var plainNumber = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?$`)

const maxDigits = 30

func parseDecimal(s string) (Decimal, error) {
	switch {
	case strings.EqualFold(strings.TrimLeft(s, "+-."), "nan"), strings.EqualFold(strings.TrimLeft(s, "+-."), "inf"):
		return Decimal{}, errors.New("it must be a finite number")
	case !plainNumber.MatchString(s):
		return Decimal{}, errors.New("it must be a plain number such as 0.25")
	case len(s) > maxDigits:
		return Decimal{}, fmt.Errorf("a number has at most %d digits", maxDigits)
	}
	return decimal.NewFromString(s)
}

// ParseRatio reads a share of one, as 95% or 0.95, exactly. A bare number
// above 1 is refused, since 95 most likely means 95%.
func ParseRatio(s string) (Decimal, error) {
	number, percent := strings.CutSuffix(s, "%")
	number = strings.TrimSpace(number)
	d, err := parseDecimal(number)
	switch {
	case err != nil:
		return Decimal{}, fmt.Errorf("it must be a share such as 95%% or 0.95: %w", err)
	case d.IsNegative():
		return Decimal{}, errors.New("a share must not be negative")
	case percent:
		return d.Shift(-2), nil
	case d.GreaterThan(one):
		return Decimal{}, fmt.Errorf("a share is written 95%% or 0.95; did you mean %s%%?", number)
	}
	return d, nil
}

// ParseDuration reads a duration such as 500ms, 10s, 1h30m, 30d or 1w: whole
// or decimal numbers, each with a unit of ms, s, m, h, d (24h) or w (7d).
func ParseDuration(s string) (time.Duration, error) {
	const form = "a duration is a number and a unit (ms, s, m, h, d or w), such as 30s or 1h30m"
	if s == "" {
		return 0, errors.New(form)
	}
	if strings.HasPrefix(s, "-") {
		return 0, errors.New("a duration must not be negative")
	}
	if plainNumber.MatchString(s) {
		if strings.Trim(s, "0.") == "" {
			return 0, nil
		}
		return 0, fmt.Errorf("%s has no unit; did you mean %ss?", s, s)
	}
	total := 0.0
	for rest := s; rest != ""; {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%s, not %q", form, clip(s))
		}
		value, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, fmt.Errorf("%s, not %q", form, clip(s))
		}
		total += value * float64(durationUnits[m[2]])
		rest = rest[len(m[0]):]
	}
	if total >= math.MaxInt64/2 {
		return 0, errors.New("the duration is too long")
	}
	return time.Duration(math.Round(total)), nil
}

var durationPart = regexp.MustCompile(`^(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h|d|w)`)

const day = 24 * time.Hour

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": 7 * day,
}

// FormatDuration writes a duration as PromQL and SLO files read it: 30d, 6h,
// 1h30m, 500ms. Anything below a millisecond is dropped.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if s := b.String(); s != "" && s != "-" {
		return s
	}
	return "0s"
}

// FormatRatio writes a share as an exact percentage: 0.999 is 99.9%.
func FormatRatio(d Decimal) string { return d.Shift(2).String() + "%" }

// span bounds a number; nil ends are open. exclusive leaves the ends out.
type bounds struct {
	low, high         *Decimal
	openLow, openHigh bool
	says              string
}

func (b bounds) check(d Decimal) error {
	if b.low != nil && (d.LessThan(*b.low) || b.openLow && d.Equal(*b.low)) ||
		b.high != nil && (d.GreaterThan(*b.high) || b.openHigh && d.Equal(*b.high)) {
		return errors.New(b.says)
	}
	return nil
}

var (
	zero     = decimal.Zero
	anyShare = bounds{low: &zero, high: &one, says: "it must be between 0% and 100%"}
	// Of nothing and of everything would be no statement.
	positiveShare  = bounds{low: &zero, openLow: true, high: &one, says: "it must be above 0% and at most 100%"}
	positiveNumber = bounds{low: &zero, openLow: true, says: "it must be above 0"}
	nonNegative    = bounds{low: &zero, says: "it must not be negative"}
	atLeastOne     = bounds{low: &one, says: "it must be at least 1"}
	anyNumber      = bounds{}
)

func (r *reader) ratio(n *yaml.Node, what string, within bounds) (Decimal, bool) {
	s, ok := r.scalar(n, what, "a share such as 95% or 0.95")
	if !ok {
		return Decimal{}, false
	}
	d, err := ParseRatio(s)
	if err == nil {
		err = within.check(d)
	}
	if err != nil {
		r.fault(r.resolve(n), "%s: %s: %s", what, clip(s), err)
		return Decimal{}, false
	}
	return d, true
}

func (r *reader) number(n *yaml.Node, what string, within bounds) (Decimal, bool) {
	s, ok := r.scalar(n, what, "a number such as 0.25")
	if !ok {
		return Decimal{}, false
	}
	if n := r.resolve(n); n.ShortTag() == "!!str" {
		if _, err := parseDecimal(s); err == nil {
			r.fault(n, "%s is a number; this is %s: leave the quotes out", what, kindOf(n))
			return Decimal{}, false
		}
	}
	d, err := parseDecimal(s)
	if err == nil {
		err = within.check(d)
	}
	if err != nil {
		r.fault(r.resolve(n), "%s: %s: %s", what, clip(s), err)
		return Decimal{}, false
	}
	return d, true
}

func (r *reader) integer(n *yaml.Node, what string, low, high int) (int, bool) {
	s, ok := r.scalar(n, what, "a whole number")
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(s)
	switch n := r.resolve(n); {
	case n.ShortTag() == "!!str" && err == nil:
		r.fault(n, "%s is a whole number; this is %s: leave the quotes out", what, kindOf(n))
	case err != nil:
		r.fault(n, "%s is a whole number from %d to %d; this is %s", what, low, high, kindOf(n))
	case v < low || v > high:
		r.fault(n, "%s is a whole number from %d to %d, not %d", what, low, high, v)
	default:
		return v, true
	}
	return 0, false
}

func (r *reader) duration(n *yaml.Node, what string, low time.Duration) (time.Duration, bool) {
	s, ok := r.scalar(n, what, "a duration such as 30s or 1h")
	if !ok {
		return 0, false
	}
	d, err := ParseDuration(s)
	if err == nil && d < low {
		if low == time.Millisecond {
			err = errors.New("it must be above 0")
		} else {
			err = fmt.Errorf("it must be at least %s", FormatDuration(low))
		}
	}
	if err == nil && d > maxDuration {
		err = fmt.Errorf("it must be at most %s", FormatDuration(maxDuration))
	}
	if err != nil {
		r.fault(r.resolve(n), "%s: %s: %s", what, clip(s), err)
		return 0, false
	}
	return d, true
}

const maxDuration = 3660 * day
