package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
)

const services = `
apiVersion: agentslo/v1
kind: AgentSLO
service: support-api
slos:
  api:
    sli: ratio
    objective: 99%
    events:
      bad: ['http_requests_total{code=~"5.."}', 'http_requests_total{code=~"50."}', 'http_requests_total{code="418"}']
      total: [http_requests_total]
  fast:
    sli: ratio
    objective: 90%
    events:
      good: ['http_request_duration_seconds_bucket{le="0.5"}']
      total: [http_request_duration_seconds_count]
  jobs:
    sli: ratio
    objective: 90%
    events:
      good: [jobs_done_total]
      bad: [jobs_failed_total]
`

func TestRatio(t *testing.T) {
	counter := func(metric, label, value string, samples ...float64) stream {
		s := stream{metric: metric, labels: map[string]string{"job": "api"}}
		if label != "" {
			s.labels[label] = value
		}
		for i, v := range samples {
			s.samples = append(s.samples, sample{end.Add(-time.Duration(len(samples)-1-i)*10*time.Hour - time.Minute), v})
		}
		return s
	}
	p := serve(t, 90*24*time.Hour,
		counter("http_requests_total", "code", "200", 0, 900, 990), counter("http_requests_total", "code", "500", 4, 6), counter("http_requests_total", "code", "429", 4),
		// Restarted: 300 + 200 within half a second of 300 + 300.
		counter("http_request_duration_seconds_bucket", "le", "0.5", 0, 300, 0, 200), counter("http_request_duration_seconds_bucket", "le", "5", 0, 300, 0, 290),
		counter("http_request_duration_seconds_count", "", "", 0, 300, 0, 300),
		counter("jobs_done_total", "", "", 0, 50),
	)
	got := map[string]gate.Budget{}
	for _, b := range read(t, p, parse(t, services), gate.Options{By: "agent"}) {
		got[b.SLO] = b
	}
	// A series that two selectors of a list match counts once: 1000 requests,
	// 6 of them bad.
	if b := got["api"]; b.Good != 994 || b.Bad != 6 || b.Remaining.String() != "0.4" || b.Status != gate.OK || b.Split != nil {
		t.Errorf("api: %d good, %d bad, %s left, %s", b.Good, b.Bad, b.Remaining, b.Status)
	}
	if b := got["fast"]; b.Good != 500 || b.Bad != 100 || b.Status != gate.Exhausted {
		t.Errorf("fast: %d good, %d bad, %s", b.Good, b.Bad, b.Status)
	}
	// A counter that does not exist may be a mistake, and so passes nothing; 418,
	// which has not happened yet, is none.
	report := decide(t, p, parse(t, services), gate.Options{SLOs: []string{"jobs"}}, gate.Terms{})
	if v := report.SLOs[0]; v.Good != 50 || v.Decision != gate.InsufficientEvidence || !strings.Contains(v.Why, "no series matches jobs_failed_total") {
		t.Errorf("jobs: %d good, %s: %s", v.Good, v.Decision, v.Why)
	}
	if v := decide(t, p, parse(t, services), gate.Options{SLOs: []string{"api"}}, gate.Terms{}).SLOs[0]; v.Decision != gate.Pass {
		t.Errorf("api: %s: %s", v.Decision, v.Why)
	}
}

func TestUnfairSamplesDoNotPass(t *testing.T) {
	good, spent := counts{good: 1000}.of("completion", nil), counts{good: 900, bad: 100}.of("completion", nil)
	scope := map[string]string{"slo_service": "support", "environment": "prod"}
	biased := stream{metric: "agentslo_biased_runs_total", labels: scope, samples: []sample{{end.Add(-time.Hour), 3}, {end.Add(-time.Minute), 4}}}
	probability := func(bound, instance string, v float64) stream {
		return stream{metric: "agentslo_sampling_probability",
			labels:  map[string]string{"slo_service": "support", "environment": "prod", "bound": bound, "instance": instance},
			samples: []sample{{end.Add(-time.Hour), v}}}
	}
	even := []stream{probability("lowest", "a", 0.25), probability("highest", "a", 0.25)}
	mixed := append([]stream{probability("lowest", "b", 0.5), probability("highest", "b", 0.5)}, even...)
	for name, c := range map[string]struct {
		streams []stream
		want    gate.Decision
		why     string
	}{
		"even":            {append(even, good...), gate.Pass, ""},
		"biased":          {append([]stream{biased}, good...), gate.InsufficientEvidence, "4 runs were sampled unevenly or by a tail sampler"},
		"mixed":           {append(mixed, good...), gate.InsufficientEvidence, "different probabilities, from 25% to 50%"},
		"biased, blocked": {append([]stream{biased}, spent...), gate.Block, "overspent"},
	} {
		t.Run(name, func(t *testing.T) {
			v := decide(t, serve(t, 90*24*time.Hour, c.streams...), parse(t, support), gate.Options{}, gate.Terms{}).SLOs[0]
			if v.Decision != c.want || !strings.Contains(v.Why, c.why) {
				t.Errorf("%s: %s", v.Decision, v.Why)
			}
		})
	}
}
