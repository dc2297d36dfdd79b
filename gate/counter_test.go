package gate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

// rose is what a counter rose within (start, end], read off its samples one by
// one: the independent account that the reader is held against. The value at
// the start is the last sample at or before it, of a week at most; without one
// the series was born inside, at 0.
func rose(samples []sample, start, end time.Time) (sum int64) {
	before := 0.0
	for _, s := range samples {
		switch {
		case !s.at.After(start):
			if s.at.After(start.Add(-7 * 24 * time.Hour)) {
				before = s.value
			}
		case !s.at.After(end):
			if s.value < before {
				sum += int64(s.value)
			} else {
				sum += int64(s.value - before)
			}
			before = s.value
		}
	}
	return sum
}

// scrapes makes up the life of one series: born late or long ago, restarted at
// 0 now and then, restarted from a checkpoint, not scraped for a while, gone.
func scrapes(r *rand.Rand, from, to time.Time, interval time.Duration) (out []sample) {
	at := from.Add(time.Duration(r.Int64N(int64(interval))))
	if r.IntN(3) == 0 {
		at = from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
	}
	death := to.Add(time.Hour)
	if r.IntN(3) == 0 {
		death = from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
	}
	value := 0.0
	if r.IntN(4) == 0 {
		value = float64(r.IntN(50)) // a scraper that came late
	}
	for ; at.Before(to) && at.Before(death); at = at.Add(interval + time.Duration(r.Int64N(1000))*time.Millisecond) {
		out = append(out, sample{at.Truncate(time.Millisecond), value})
		switch dice := r.IntN(1000); {
		case dice < 3:
			value = float64(r.IntN(3)) // restarted with nothing
		case dice < 6:
			at = at.Add(time.Duration(r.Int64N(int64(30 * time.Hour)))) // away, then back where it was
		case dice < 200:
			value += float64(r.IntN(4))
		}
	}
	return out
}

func TestCountsAreExact(t *testing.T) {
	for seed := range uint64(6) {
		for _, window := range []string{"30d", "7d", "36h", "5h17m"} {
			t.Run(fmt.Sprintf("%d/%s", seed, window), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(len(window))))
				set := parse(t, "apiVersion: agentslo/v1\nkind: AgentSLO\nservice: support\nwindow: "+window+"\nslos: {completion: {objective: 99%}}\n")
				length := set.Files[0].Window.Rolling
				var streams []stream
				for replica := range 3 {
					for _, verdict := range slo.Verdicts {
						s := stream{labels: map[string]string{
							"slo_service": "support", "environment": "prod", "agent": fmt.Sprint("a", replica), "slo": "completion",
							"verdict": verdict.String(), "instance": fmt.Sprint("collector-", replica),
						}}
						s.samples = scrapes(r, end.Add(-length*5/4-3*time.Hour), end.Add(2*time.Minute), max(length/2000, time.Minute))
						streams = append(streams, s)
					}
				}
				budgets := read(t, serve(t, 90*24*time.Hour, streams...), set, gate.Options{})
				if len(budgets) != 1 {
					t.Fatalf("%d budgets", len(budgets))
				}
				b := budgets[0]
				within := func(length time.Duration) map[string]int64 {
					sums := map[string]int64{}
					for _, s := range streams {
						sums[s.labels["verdict"]] += rose(s.samples, end.Add(-length), end)
					}
					return sums
				}
				want := within(length)
				got := map[string]int64{"good": b.Good, "bad": b.Bad, "unknown": b.Unknown, "excluded": b.Excluded}
				for verdict, n := range got {
					if n != want[verdict] {
						t.Errorf("%s: %d, samples say %d", verdict, n, want[verdict])
					}
				}
				for _, burn := range b.BurnRate {
					d, err := slo.ParseDuration(burn.Window)
					if err != nil {
						t.Fatal(err)
					}
					w := within(d)
					want := 0.0
					if n := w["good"] + w["bad"]; n > 0 {
						want = float64(w["bad"]) / float64(n) / 0.01
					}
					if abs(burn.Rate.InexactFloat64()-want) > 1e-5 {
						t.Errorf("burn %s: %v, samples say %v", burn.Window, burn.Rate, want)
					}
				}
			})
		}
	}
}

// A Collector comes back from its checkpoint in a pod of another name: its
// counters go on, and do not count twice.
func TestRestoredUnderAnotherName(t *testing.T) {
	ago := func(d time.Duration) time.Time { return end.Add(-d) }
	counter := func(instance string, samples ...sample) stream {
		return stream{labels: map[string]string{
			"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": "good", "instance": instance,
		}, samples: samples}
	}
	const m, h = time.Minute, time.Hour
	for name, c := range map[string]struct {
		streams []stream
		want    int64
	}{
		// 510 runs in all: 500 were seen in pod a, 2 more before it stopped.
		"one pod": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * h), 500}),
			counter("b", sample{ago(29 * h), 502}, sample{ago(m), 510}),
		}, 510},
		"within the last hour": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * m), 500}),
			counter("b", sample{ago(20 * m), 502}, sample{ago(m), 510}),
		}, 510},
		"twice": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * h), 500}),
			counter("b", sample{ago(29 * h), 500}, sample{ago(20 * h), 600}),
			counter("c", sample{ago(19 * h), 600}, sample{ago(m), 601}),
		}, 601},
		"two pods": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * h), 500}),
			counter("b", sample{ago(50 * h), 0}, sample{ago(30 * h), 20}),
			counter("c", sample{ago(29 * h), 25}, sample{ago(m), 30}),
			counter("d", sample{ago(29 * h), 505}, sample{ago(m), 510}),
		}, 540},
		"a pod that is still there is another": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(m), 10}),
			counter("b", sample{ago(20 * m), 12}, sample{ago(m), 15}),
		}, 25},
		"begun anew": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * h), 500}),
			counter("b", sample{ago(29 * h), 0}, sample{ago(m), 10}),
		}, 510},
		"lower than what is gone": {[]stream{
			counter("a", sample{ago(50 * h), 0}, sample{ago(30 * h), 500}),
			counter("b", sample{ago(29 * h), 3}, sample{ago(m), 10}),
		}, 510},
	} {
		t.Run(name, func(t *testing.T) {
			if b := read(t, serve(t, 90*24*time.Hour, c.streams...), parse(t, support), gate.Options{})[0]; b.Good != c.want {
				t.Errorf("%d runs, want %d", b.Good, c.want)
			}
		})
	}
}

func abs(v float64) float64 { return max(v, -v) }
