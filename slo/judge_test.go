package slo_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

func judged(t *testing.T, keys string) *slo.Objective {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte("service: a\nslos: {correctness: {objective: 95%, evaluations: [{name: e, min_score: 1}]"+keys+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &files[0].SLOs[0]
}

// By hand, with sensitivity 92% and specificity 97%: of 1000 runs of which 50
// are bad, 46 bad ones and 3% of 950 good ones, 28.5, are judged bad: 7.45%.
func TestJudge(t *testing.T) {
	o := judged(t, ", judge: {sensitivity: 92%, specificity: 97%}")
	if got := o.JudgedBudget().String(); got != "0.0745" {
		t.Errorf("judged budget %s", got)
	}
	for _, x := range []struct{ judged, bad string }{{"0.0745", "0.05"}, {"0.03", "0"}, {"0.01", "0"}, {"0.92", "1"}, {"1", "1"}, {"0.475", "0.5"}} {
		if got := o.Judge.Corrected(decimal.RequireFromString(x.judged)); !got.Equal(decimal.RequireFromString(x.bad)) {
			t.Errorf("%s judged bad are %s truly, want %s", x.judged, got, x.bad)
		}
	}
	if got := o.ErrorRatio(9255, 745); math.Abs(got-0.05) > 1e-9 {
		t.Errorf("error ratio %g", got)
	}
	// Exactly what the budget looks like to this judge is no evidence; to one that
	// is always right, 7.45% of 10000 speak loudly: 745·ln 1.49 + 9255·ln(0.9255/0.95) = 55.3 nats.
	if got := o.Evidence(9255, 745); got != 0 {
		t.Errorf("evidence %g", got)
	}
	if got := judged(t, "").Evidence(9255, 745); math.Abs(got-55.3) > 0.5 {
		t.Errorf("evidence without a judge %g", got)
	}
}

func TestJudgesThatTellNothing(t *testing.T) {
	for keys, want := range map[string]string{
		"{sensitivity: 60%, specificity: 40%}": "add up to 100%",
		"{sensitivity: 60%}":                   "sensitivity and specificity, both",
		"{sensitivity: 101%, specificity: 1}":  "at most 100%",
	} {
		_, err := slo.Parse("slo.yaml", []byte("service: a\nslos:\n  correctness:\n    objective: 95%\n    evaluations: [{name: e, min_score: 1}]\n    judge: "+keys+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "slo.yaml:6:") {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

// What may be judged hours later wakes nobody, unless the file says so.
func TestLongWaitsTicket(t *testing.T) {
	for keys, want := range map[string]slo.Alert{
		"":                         slo.AlertPage,
		", wait: 1h":               slo.AlertPage,
		", wait: 61m":              slo.AlertTicket,
		", wait: 24h, alert: page": slo.AlertPage,
		", wait: 24h, alert: none": slo.AlertNone,
		", judge: {sensitivity: 1, specificity: 1}": slo.AlertPage,
	} {
		if got := judged(t, keys).Alert; got != want {
			t.Errorf("%q: %s, want %s", keys, got, want)
		}
	}
}

// An hour after every usual wait: the idle timeout of an hour, and that for
// evaluations up to six.
func TestLateAfter(t *testing.T) {
	for keys, want := range map[string]time.Duration{"": 3 * time.Hour, ", wait: 4h": 6 * time.Hour, ", wait: 168h": 8 * time.Hour} {
		o := judged(t, keys)
		files, _ := slo.Parse("slo.yaml", []byte("service: a\nslos: {completion: {objective: 99%}}\n"))
		if got := files[0].LateAfter(o); got != want {
			t.Errorf("%q: %s, want %s", keys, got, want)
		}
		if got := files[0].LateAfter(&files[0].SLOs[0]); got != 2*time.Hour {
			t.Errorf("completion: %s", got)
		}
	}
}

// A narrow SLO's other runs are no gap, but what was not judged of a sample is.
func TestConditional(t *testing.T) {
	for keys, want := range map[string]bool{
		"": false, ", agents: [a]": true, ", when: 'run.tool_calls > 1'": true,
		", expected_coverage: 10%": false, ", agents: [a], expected_coverage: 10%": false,
	} {
		if got := judged(t, keys).Conditional(); got != want {
			t.Errorf("%q: %t", keys, got)
		}
	}
}
