package slo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivergence(t *testing.T) {
	require.Zero(t, Divergence(0.05, 0.05), "the truth is no news")
	require.InDelta(t, math.Log(100), Divergence(1, 0.01), 1e-12, "a failure at 1% tolerated")
	require.InDelta(t, -math.Log(0.99), Divergence(0, 0.01), 1e-12)
	// 0.5·ln(10) + 0.5·ln(0.5/0.95), by hand.
	require.InDelta(t, 0.830366, Divergence(0.5, 0.05), 1e-6)
	require.InDelta(t, Evidence(5, 5, 0.05), 10*Divergence(0.5, 0.05), 1e-12, "evidence is events times divergence")
}

func TestEventsToDetect(t *testing.T) {
	// 0.1 false alarms in 2880 events: ln(28800) = 10.268 nats, a failure brings 4.605.
	require.InDelta(t, 2.2297, EventsToDetect(0.1/2880, 1, 0.01), 1e-3)
	require.True(t, math.IsInf(EventsToDetect(0.001, 0.01, 0.01), 1), "nothing has changed")
}

// The bounds are those of Garwood's table, Biometrika 28 (1936).
func TestPoissonInterval(t *testing.T) {
	for count, want := range map[float64][2]float64{0: {0, 3.689}, 1: {0.0253, 5.572}, 10: {4.795, 18.390}, 30: {20.24, 42.83}} {
		low, high := PoissonInterval(count, 0.95)
		require.InDelta(t, want[0], low, 0.005, "%g", count)
		require.InDelta(t, want[1], high, 0.005, "%g", count)
	}
}

// The ranks are those of the sign test's tables for the median.
func TestQuantileRanks(t *testing.T) {
	for n, want := range map[int][2]int{6: {1, 6}, 10: {2, 9}, 20: {6, 15}, 40: {14, 27}} {
		low, high, ok := QuantileRanks(n, 0.5, 0.95)
		require.True(t, ok)
		require.Equal(t, want, [2]int{low, high}, "%d", n)
	}
	_, _, ok := QuantileRanks(5, 0.5, 0.95)
	require.False(t, ok, "five values lie on both sides of the median with 1 − 2/32 only")
}
