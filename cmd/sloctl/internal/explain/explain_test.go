package explain_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/explain"
	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

func parse(t *testing.T, objective, extra string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte("apiVersion: agentslo/v1\nkind: AgentSLO\nservice: support\nenvironment: prod\n"+extra+"slos: {completion: {objective: "+objective+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &slo.Set{Files: files}
}

func tier(t *testing.T, e explain.Explanation, name string) explain.Tier {
	t.Helper()
	for _, x := range e.Tiers {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no tier %s", name)
	return explain.Tier{}
}

// Worked out by hand. 99%, page_fast: above 14.4% of the hour's runs, 8 nats.
// One failure is ln 100 = 4.6 nats, two are 9.2. At one run an hour the hour
// never holds two. At 10 an hour 3 of 10 are 30%, but 3·ln 30 + 7·ln(0.7/0.99) =
// 7.8 nats; 4 of 10 are 4·ln 40 + 6·ln(0.6/0.99) = 11.8: four runs, 24 minutes.
// At 100 an hour the 15th failure is the first above 14.4: 9 minutes. Five
// minutes then hold 8 runs, of which none may be bad (one is 12.5%, above half
// of 14.4, and ln 12.5 + 7·ln(0.875/0.99) = 1.7 nats): 8 good ones, 288 s, and the
// 30 minutes that the page is kept.
func TestTimes(t *testing.T) {
	set := parse(t, "99%", "")
	x := tier(t, explain.SLO(set.Files[0], &set.Files[0].SLOs[0]), "page_fast")
	if *x.FailuresInARow != 2 {
		t.Errorf("failures in a row: %d", *x.FailuresInARow)
	}
	for i, want := range []struct{ detect, reset int64 }{{-1, -1}, {24 * 60, -1}, {9 * 60, 288 + 1800}, {-1, -1}} {
		got := x.Traffic[i]
		switch {
		case i == 0:
			if got.Detect != nil {
				t.Errorf("one run an hour is detected in %d s", *got.Detect)
			}
			continue
		case want.detect >= 0 && *got.Detect != want.detect:
			t.Errorf("%d/h: detected in %d s, want %d", got.RunsPerHour, *got.Detect, want.detect)
		}
		if want.reset >= 0 && *got.Reset != want.reset {
			t.Errorf("%d/h: reset in %d s, want %d", got.RunsPerHour, *got.Reset, want.reset)
		}
	}
}

// A tier that burns at the tolerated ratio itself has no evidence at its
// threshold, whatever the number of runs.
func TestNoRunsAtTheToleratedRatio(t *testing.T) {
	set := parse(t, "99%", "")
	if x := tier(t, explain.SLO(set.Files[0], &set.Files[0].SLOs[0]), "ticket_slow"); x.RunsAtThreshold != nil {
		t.Errorf("%d runs", *x.RunsAtThreshold)
	}
}

func TestTolerated(t *testing.T) {
	set := parse(t, "99.9%", "window: 7d\n")
	e := explain.SLO(set.Files[0], &set.Files[0].SLOs[0])
	// 7 days at 10 runs an hour are 1680 runs.
	if got := e.Tolerated[1]; got.Runs != "1680" || got.Bad != "1.68" {
		t.Errorf("%+v", got)
	}
	// ln 0.05 / ln 0.999 = 2994.2.
	if e.SmallestSample != 2995 {
		t.Errorf("smallest sample %d", e.SmallestSample)
	}
}

// 4 verdicts and what came late, and 4 for each of 20 versions and the overflow.
func TestSeries(t *testing.T) {
	set := parse(t, "99%", "dimensions: {version: {attribute: service.version, keep: 20}}\n")
	if got := explain.SLO(set.Files[0], &set.Files[0].SLOs[0]).Series.Exporter; got != 89 {
		t.Errorf("%d", got)
	}
}

// What the page says is what the rules do: promtool runs them over 60 runs an
// hour, good until minute 120, bad until 240, then good again.
func TestRulesFireWhenExplained(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("evaluates all rules for hours")
	}
	for _, objective := range []string{"99%", "90%"} {
		t.Run(objective, func(t *testing.T) {
			set := parse(t, objective, "")
			traffic := *explain.At(set.Files[0], &set.Files[0].SLOs[0], "page_fast", 60)
			if traffic.Detect == nil {
				t.Fatal("never")
			}
			dir := t.TempDir()
			var out bytes.Buffer
			if err := rules.Write(&out, set, rules.FormatPrometheus); err != nil {
				t.Fatal(err)
			}
			save(t, dir, "rules.yaml", out.String())
			const fails, recovers = 120, 240
			// The alert is looked at two minutes before and after: scrape and
			// evaluation come on top of what is explained.
			detected, reset := fails+int(*traffic.Detect/60), recovers+int(*traffic.Reset/60)
			save(t, dir, "test.yaml", strings.Join([]string{
				"rule_files: [rules.yaml]", "evaluation_interval: 1m", "tests:", "- interval: 1m", "  input_series:",
				series("good", fmt.Sprintf("0+1x%d %d+0x%d %d+1x40", fails, fails, recovers-fails-1, fails+1)),
				series("bad", fmt.Sprintf("0+0x%d 1+1x%d %d+0x40", fails, recovers-fails-1, recovers-fails)),
				"  promql_expr_test:",
				expect(detected-2, 0), expect(detected+2, 1), expect(reset-2, 1), expect(reset+3, 0),
			}, "\n"))
			command := exec.Command("promtool", "test", "rules", "test.yaml")
			command.Dir = dir
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("detect %ds, reset %ds: %v\n%s", *traffic.Detect, *traffic.Reset, err, out)
			}
		})
	}
}

func series(verdict, values string) string {
	return fmt.Sprintf("  - series: 'agentslo_events_total{slo_service=\"support\",environment=\"prod\",agent=\"a\",slo=\"completion\",verdict=%q}'\n    values: '%s'", verdict, values)
}

func expect(minute, firing int) string {
	return fmt.Sprintf("  - expr: count(ALERTS{alertname=\"AgentSLOBudgetBurn\",tier=\"page_fast\",alertstate=\"firing\"}) or vector(0)\n    eval_time: %dm\n    exp_samples: [{labels: '{}', value: %d}]", minute, firing)
}

func save(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
