package slo_test

import (
	"math"
	"testing"
	"time"

	"github.com/agentslo/agentslo/slo"
)

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

func TestBudget(t *testing.T) {
	for _, c := range []struct{ good, bad, budget, remaining, burn float64 }{
		{0, 0, 0.01, 1, 0},         // an idle agent keeps its budget
		{1000, 0, 0.01, 1, 0},      // nothing spent
		{990, 10, 0.01, 0, 1},      // exactly all of it
		{995, 5, 0.01, 0.5, 0.5},   // half
		{999, 1, 0.05, 0.98, 0.02}, // 1 in 1000 at 95%: 2% spent
		{980, 20, 0.01, -1, 2},     // spent twice over
		{0, 4, 0.05, -19, 20},      // all bad: 1/budget
		{0, 1, 0.5, -1, 2},
	} {
		if got := slo.BudgetRemaining(c.good, c.bad, c.budget); !near(got, c.remaining) {
			t.Errorf("remaining of %+v: %v", c, got)
		}
		if got := slo.BurnRate(c.good, c.bad, c.budget); !near(got, c.burn) {
			t.Errorf("burn of %+v: %v", c, got)
		}
		if c.good+c.bad > 0 {
			if got := slo.ErrorRatio(c.good, c.bad); !near(got, c.burn*c.budget) {
				t.Errorf("error ratio of %+v: %v", c, got)
			}
		}
	}
	if !math.IsNaN(slo.ErrorRatio(0, 0)) {
		t.Error("no events have no error ratio")
	}
}

func TestExhaustedIn(t *testing.T) {
	const window = 30 * 24 * time.Hour
	for _, c := range []struct {
		remaining, burn float64
		want            time.Duration
		ok              bool
	}{
		{1, 1, window, true},            // the meaning of burn 1
		{1, 14.4, 50 * time.Hour, true}, // SRE Workbook, table 5-4: 14.4 spends 30 days' budget in 50 hours
		{0.5, 6, 60 * time.Hour, true},
		{0, 0, 0, true},
		{-3, 1, 0, true},
		{1, 0, 0, false},
		{1, 1e-9, 0, false},
		{1, math.NaN(), 0, false},
	} {
		got, ok := slo.ExhaustedIn(c.remaining, c.burn, window)
		if ok != c.ok || (got-c.want).Abs() > time.Millisecond {
			t.Errorf("%+v: %v %v", c, got, ok)
		}
	}
}

func TestEvidence(t *testing.T) {
	for _, c := range []struct{ good, bad, budget, want float64 }{
		{0, 0, 0.01, 0},
		{100, 0, 0.01, 0},               // no failure is no evidence
		{99, 1, 0.01, 0},                // exactly as budgeted
		{999, 1, 0.01, 0},               // better than budgeted
		{0, 4, 0.01, 4 * math.Log(100)}, // all bad: bad·ln(1/budget) = 18.42
		{0, 1, 0.05, math.Log(20)},      // 2.996
		// 3 of 10 against 1%: 3·ln 30 + 7·ln(0.7/0.99) = 10.2036 − 2.4264
		{7, 3, 0.01, 3*3.4011973816621555 + 7*(-0.35667494393873245+0.01005033585350145)},
		{1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, math.NaN(), 0}, // no budget to compare with
	} {
		if got := slo.Evidence(c.good, c.bad, c.budget); !near(got, c.want) {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
	// Half of the G statistic: 60 of 100 against 1/2, computed as a likelihood-ratio
	// test by hand: G = 2(60 ln 1.2 + 40 ln 0.8) = 4.0271.
	if got := 2 * slo.Evidence(40, 60, 0.5); math.Abs(got-4.0271) > 5e-5 {
		t.Errorf("G = %v", got)
	}
}

func TestEvidenceGrows(t *testing.T) {
	for _, budget := range []float64{0.0001, 0.01, 0.05, 0.3, 0.9} {
		for n := 1.0; n <= 60; n++ {
			for bad := 0.0; bad <= n; bad++ {
				e := slo.Evidence(n-bad, bad, budget)
				switch {
				case e < 0 || math.IsNaN(e) || math.IsInf(e, 0):
					t.Fatalf("evidence of %v in %v at %v: %v", bad, n, budget, e)
				case bad > 0 && e < slo.Evidence(n-bad+1, bad-1, budget)-1e-12:
					t.Fatalf("a bad for a good lowers evidence: %v in %v at %v", bad, n, budget)
				case slo.Evidence(n-bad, bad+1, budget) < e-1e-12:
					t.Fatalf("one more bad lowers evidence: %v in %v at %v", bad, n, budget)
				case slo.Evidence(n-bad+1, bad, budget) > e+1e-12:
					t.Fatalf("one more good raises evidence: %v in %v at %v", bad, n, budget)
				case !near(slo.Evidence(3*(n-bad), 3*bad, budget), 3*e):
					t.Fatalf("evidence is not proportional to events: %v in %v at %v", bad, n, budget)
				}
			}
		}
	}
}

func TestEventsForEvidence(t *testing.T) {
	// At 99% and everything bad each event brings ln 100 = 4.6: two make 7.
	if got := slo.EventsForEvidence(7, 1, 0.01); got != 2 {
		t.Errorf("%v", got)
	}
	if got := slo.EventsForEvidence(2*math.Log(100), 1, 0.01); got != 2 {
		t.Errorf("exactly reached: %v", got)
	}
	if got := slo.EventsForEvidence(7, 0.01, 0.01); !math.IsInf(got, 1) {
		t.Errorf("a ratio within the budget never convinces: %v", got)
	}
	for _, r := range []float64{0.02, 0.1, 0.5, 1} {
		n := slo.EventsForEvidence(7, r, 0.01)
		if slo.Evidence(n*(1-r), n*r, 0.01) < 7-1e-6 || slo.Evidence((n-1)*(1-r), (n-1)*r, 0.01) >= 7 {
			t.Errorf("%v events are not the least at %v", n, r)
		}
	}
}

func TestIntervals(t *testing.T) {
	// Agresti and Coull, "Approximate is better than exact" (1998), and the worked
	// examples of Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263,
	// 15 of 148, 0 of 20 and 1 of 29, at 95%.
	for _, c := range []struct{ bad, total, exactLow, exactHigh, wilsonLow, wilsonHigh float64 }{
		{81, 263, 0.2527, 0.3676, 0.2553, 0.3662},
		{15, 148, 0.0578, 0.1617, 0.0624, 0.1605},
		{0, 20, 0, 0.1684, 0, 0.1611},
		{1, 29, 0.0009, 0.1776, 0.0061, 0.1718},
	} {
		low, high := slo.ClopperPearson(c.bad, c.total, 0.95)
		if math.Abs(low-c.exactLow) > 6e-5 || math.Abs(high-c.exactHigh) > 6e-5 {
			t.Errorf("Clopper-Pearson %v of %v: %.4f %.4f", c.bad, c.total, low, high)
		}
		low, high = slo.Wilson(c.bad, c.total, 0.95)
		if math.Abs(low-c.wilsonLow) > 6e-5 || math.Abs(high-c.wilsonHigh) > 6e-5 {
			t.Errorf("Wilson %v of %v: %.4f %.4f", c.bad, c.total, low, high)
		}
	}
	// All bad mirrors none bad; one-sided ends have closed forms: (α/2)^(1/n).
	if low, high := slo.ClopperPearson(20, 20, 0.95); !near(low, math.Pow(0.025, 1.0/20)) || high != 1 {
		t.Errorf("%v %v", low, high)
	}
	if low, high := slo.ClopperPearson(0, 300, 0.95); low != 0 || !near(high, 1-math.Pow(0.025, 1.0/300)) {
		t.Errorf("%v %v", low, high)
	}
}

func TestIntervalsHoldTheShare(t *testing.T) {
	for name, interval := range map[string]func(bad, total, confidence float64) (float64, float64){"Clopper-Pearson": slo.ClopperPearson, "Wilson": slo.Wilson} {
		if low, high := interval(0, 0, 0.95); low != 0 || high != 1 {
			t.Errorf("%s without events: %v %v", name, low, high)
		}
		for _, total := range []float64{1, 2, 7, 100, 5000, 1e6, 1e8} {
			lastLow, lastHigh := -1.0, -1.0
			for _, share := range []float64{0, 1e-6, 0.001, 0.01, 0.3, 0.5, 0.99, 1} {
				bad := math.Round(share * total)
				low, high := interval(bad, total, 0.95)
				if !(low >= 0 && low <= bad/total && bad/total <= high && high <= 1) {
					t.Fatalf("%s: %v of %v: %v %v", name, bad, total, low, high)
				}
				if low < lastLow || high < lastHigh {
					t.Fatalf("%s: more bad of %v moves the interval down: %v %v", name, total, low, high)
				}
				lastLow, lastHigh = low, high
				if wideLow, wideHigh := interval(bad, total, 0.999); wideLow > low || wideHigh < high {
					t.Fatalf("%s: more confidence narrows the interval of %v in %v", name, bad, total)
				}
			}
		}
	}
}

// Clopper–Pearson's promise is coverage: for a true share the interval misses
// it in at most 5% of all samples. The binomial sum is exact.
func TestClopperPearsonCovers(t *testing.T) {
	const n = 50
	for _, p := range []float64{0.01, 0.05, 0.1, 0.3, 0.5} {
		covered := 0.0
		for k := 0; k <= n; k++ {
			if low, high := slo.ClopperPearson(float64(k), n, 0.95); low <= p && p <= high {
				lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
				covered += math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
			}
		}
		if covered < 0.95 {
			t.Errorf("covers a share of %v in %v of samples", p, covered)
		}
	}
}

func TestZeroFailureSample(t *testing.T) {
	for _, c := range []struct{ budget, confidence, want float64 }{
		{0.01, 0.95, 299}, // the classic 59, 299 and 2995 of acceptance sampling
		{0.05, 0.95, 59},
		{0.001, 0.95, 2995},
		{0.1, 0.9, 22},
		{0.5, 0.5, 1},
		{1, 0.95, 1},
	} {
		if got := slo.ZeroFailureSample(c.budget, c.confidence); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if !math.IsInf(slo.ZeroFailureSample(0, 0.95), 1) {
		t.Error("no sample shows a share of nothing")
	}
}
