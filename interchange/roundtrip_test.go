package interchange_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/interchange"
	"github.com/agentslo/agentslo/slo"
)

func parse(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	require.NoError(t, err)
	return &slo.Set{Files: files}
}

// ratios are files of which both formats can carry everything.
const ratios = `
service: shop
environment: prod
labels: {team: web}
slos:
  availability: {sli: ratio, objective: 99.95%, description: "It answers: mostly.", events: {bad: ['http_total{code=~"5..",path!="/é\\n"}'], total: [http_total]}}
  latency: {sli: ratio, objective: 90%, alert: ticket, events: {good: ['d_bucket{le="0.3"}', 'e_bucket{le="1"}'], total: [d_count, e_count]}}
  jobs: {sli: ratio, objective: 99.999%, events: {good: [done_total, skipped_total], bad: [failed_total]}}
  quiet: {sli: ratio, objective: 40%, alert: none, events: {bad: [a_total, b_total], total: [c_total]}}
alerting: {runbook: "https://runbooks.example.com/{{service}}/{{slo}}#{{environment}}", page: {labels: {severity: critical}}, ticket: {labels: {severity: low, queue: web}}}
---
service: bank
slos:
  transfers: {sli: ratio, objective: 99%, events: {bad: ['t_total{result="failed"}'], total: [t_total]}}
`

// more is what only OpenSLO has a place for.
const more = `---
service: Support_API
window: {calendar: quarter, timezone: Europe/Berlin}
labels: {_hidden: "yes", tEam: x}
slos:
  Tool_Calls: {sli: ratio, objective: 95%, events: {bad: [f_total], total: [g_total]}}
alerting: {dashboard: "https://grafana.example.com", false_pages: 0.1, runbook: "https://runbooks.example.com"}
---
service: weekly
window: 90m
slos: {x: {sli: ratio, objective: 95%, alert: ticket, events: {bad: [f_total], total: [g_total]}}}
`

func TestRoundTrips(t *testing.T) {
	for format, text := range map[interchange.Format]string{interchange.Sloth: ratios, interchange.OpenSLO: ratios + more} {
		t.Run(string(format), func(t *testing.T) {
			set := parse(t, text)
			out, notices, err := interchange.Export(set, format)
			require.NoError(t, err)
			for _, n := range notices { // that alerts differ is told each time
				require.Equal(t, "slos", n.Key, "%s", n)
			}
			files, notices := interchange.Import([]interchange.Source{{Path: "x.yaml", Data: out}}, interchange.ImportOptions{})
			require.Empty(t, notices, "%s", out)
			same(t, "of "+string(out), describe(set.Files), described(t, files))

			// What comes out the second time is what came out the first time.
			var read []*slo.File
			for _, f := range files {
				parsed, err := slo.Parse(f.Name, f.Data)
				require.NoError(t, err)
				read = append(read, parsed...)
			}
			again, _, err := interchange.Export(&slo.Set{Files: read}, format)
			require.NoError(t, err)
			files2, _ := interchange.Import([]interchange.Source{{Path: "x.yaml", Data: again}}, interchange.ImportOptions{})
			require.Equal(t, described(t, files), described(t, files2))
		})
	}
}

// SLOs about runs become ratios of the exporter's counters, with the number
// that the exporter's own would have: bad of good and bad.
func TestRunsAreExportedAsCounters(t *testing.T) {
	set := parse(t, `
service: bot
environment: prod
agents: [bot-*]
window: 28d
tools: {expect: never}
slos:
  completion: {objective: 99%}
  tool_free: {objective: 98%, alert: ticket}
policy: {freeze_below: 1%}
`)
	for format, lost := range map[interchange.Format][]string{
		interchange.Sloth:   {"4:1 agents", "5:1 window", "6:1 tools", "7:1 slos", "8:3 slos.completion", "9:3 slos.tool_free", "10:1 policy"},
		interchange.OpenSLO: {"4:1 agents", "6:1 tools", "7:1 slos", "8:3 slos.completion", "9:3 slos.tool_free", "10:1 policy"},
	} {
		out, notices, err := interchange.Export(set, format)
		require.NoError(t, err)
		var told []string
		for _, n := range notices {
			require.False(t, n.Error, "%s", n)
			told = append(told, strings.Split(strings.TrimPrefix(n.String(), "slo.yaml:"), ": ")[0]+" "+n.Key)
		}
		require.Equal(t, lost, told)
		files, notices := interchange.Import([]interchange.Source{{Path: "x.yaml", Data: out}}, interchange.ImportOptions{Window: "28d"})
		require.Empty(t, notices)
		const events = `agentslo_events_total{slo_service="bot",environment="prod",slo=`
		require.Equal(t, []string{
			`slo bot completion 99% 28d page bad: ` + events + `"completion",verdict="bad"}; total: ` + events + `"completion",verdict=~"good|bad"}`,
			`with bot completion environment=prod`,
			`slo bot tool_free 98% 28d ticket bad: ` + events + `"tool_free",verdict="bad"}; total: ` + events + `"tool_free",verdict=~"good|bad"}`,
			`with bot tool_free environment=prod`,
		}, described(t, files))
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	for _, c := range []struct {
		format     interchange.Format
		text, want string
	}{
		{interchange.Sloth, "service: ab\nwindow: {calendar: month}\nslos: {completion: {objective: 99%}}", "slo.yaml:2:1: error: window: Sloth's windows are rolling"},
		{interchange.Sloth, "service: ab\nslos:\n  c: {sli: completion, objective: 99%}", "slo.yaml:3:3: error: slos.c: Sloth refuses names of one character"},
		{interchange.Sloth, "service: ab\nby: [agent]\nslos: {completion: {objective: 99%}}", "slo.yaml:2:1: warning: by: not carried"},
		{interchange.Sloth, "service: ab\nslos: {completion: {objective: 99%}}\nalerting: {dashboard: 'https://x', false_pages: 1}", "slo.yaml:3:1: warning: alerting: not carried: Sloth links no dashboard"},
		{interchange.OpenSLO, "service: ab\nslos:\n  a_b: {sli: completion, objective: 99%}\n  a-b: {sli: completion, objective: 99%}", "slo.yaml:4:3: error: slos.a-b: its name would be a-b, as that of a_b"},
		{interchange.OpenSLO, "service: ab\nlabels: {" + strings.Repeat("x", 70) + ": x}\nslos: {completion: {objective: 99%}}", "slo.yaml:2:1: warning: labels: the label is not carried"},
	} {
		_, notices, err := interchange.Export(parse(t, c.text), c.format)
		require.NoError(t, err)
		var all bytes.Buffer
		for _, n := range notices {
			all.WriteString(n.String() + "\n")
		}
		require.Contains(t, all.String(), c.want)
	}
	_, _, err := interchange.Export(parse(t, ratios), "pyrra")
	require.ErrorContains(t, err, "openslo")
}

// Objects of one specification may stand in several files, of both formats.
func TestReferencesAcrossFiles(t *testing.T) {
	source := func(path, text string) interchange.Source { return interchange.Source{Path: path, Data: []byte(text)} }
	files, notices := interchange.Import([]interchange.Source{
		source("slo.yaml", `
apiVersion: openslo/v1
kind: SLO
metadata: {name: a, annotations: {agentslo/alert: none}}
spec: {service: shop, indicatorRef: errors, timeWindow: [{duration: 7d, isRolling: true}], budgetingMethod: Occurrences, objectives: [{target: 0.9}]}
`),
		source("sloth.yaml", `
version: prometheus/v1
service: shop
slos: [{name: b, objective: 99, sli: {events: {error_query: 'sum(rate(x_total[{{.window}}]))', total_query: 'sum(rate(y_total[{{.window}}]))'}}}]
`),
		source("sli.json", `{"apiVersion": "openslo/v1", "kind": "SLI", "metadata": {"name": "errors"}, "spec": {"ratioMetric": {"counter": true,
			"bad": {"metricSource": {"type": "Prometheus", "spec": {"query": "f_total"}}}, "total": {"metricSource": {"type": "Prometheus", "spec": {"query": "g_total"}}}}}}`),
	}, interchange.ImportOptions{Window: "28d"})
	require.Empty(t, notices)
	require.Len(t, files, 1, "one file a service")
	require.ElementsMatch(t, []string{
		"slo shop a 90% 7d none bad: f_total; total: g_total", "slo shop b 99% 28d page bad: x_total; total: y_total",
	}, described(t, files))
}

func TestUnreadableSources(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "x: error: the file holds no document",
		"# nothing\n---\n---\n":             "x: error: the file holds no document",
		"a: [1\nb: 2":                       "error: this is no YAML",
		strings.Repeat("#", 17<<20):         "x: error: the file is larger than 16 MiB",
		"version: &v prometheus/v1\n<<: *v": "neither",
	} {
		files, notices := interchange.Import([]interchange.Source{{Path: "x", Data: []byte(text)}}, interchange.ImportOptions{})
		require.Empty(t, files)
		if !strings.HasPrefix(text, "version") {
			require.Len(t, notices, 1)
			require.Contains(t, notices[0].String(), want)
		}
		require.Positive(t, notices.Errors())
	}
}

// Merge keys within merge keys multiply, and may hold themselves.
func TestMergesAreBounded(t *testing.T) {
	bomb := "a0: &a0 {version: prometheus/v1}\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	for _, text := range []string{bomb + "<<: *a29\n", "&x\nversion: prometheus/v1\n<<: *x\n"} {
		start := time.Now()
		_, notices := interchange.Import([]interchange.Source{{Path: "x", Data: []byte(text)}}, interchange.ImportOptions{})
		require.Less(t, time.Since(start), 5*time.Second)
		require.Positive(t, notices.Errors())
	}
}

// FuzzImport looks for specifications that make Import panic or write what
// agentslo refuses, or that it takes without carrying or telling anything.
func FuzzImport(f *testing.F) {
	for _, text := range specifications(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		hung := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("hangs: %q", data)) })
		defer hung.Stop()
		files, notices := interchange.Import([]interchange.Source{{Path: "f.yaml", Data: data}}, interchange.ImportOptions{})
		if len(files) == 0 && len(notices) == 0 {
			t.Fatal("neither SLOs nor notices")
		}
		for _, file := range files {
			read, err := slo.Parse(file.Name, file.Data)
			if err != nil {
				t.Fatalf("%v\n%s", err, file.Data)
			}
			for _, format := range interchange.Formats {
				if _, _, err := interchange.Export(&slo.Set{Files: read}, format); err != nil {
					t.Fatal(err)
				}
			}
		}
		lines := len(regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]").FindAllIndex(data, -1)) + 1 // as YAML breaks them
		for _, n := range notices {
			if n.Line > lines {
				t.Fatalf("outside of the file: %s", n)
			}
		}
	})
}
