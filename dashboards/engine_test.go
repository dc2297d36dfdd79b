package dashboards_test

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/agentslo/agentslo/dashboards"
	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// The world that the queries look at: for minutes, every SLO sees per minute
// one good and one unknown run, and from minute incident on one bad one too;
// every tenth minute one is excluded. So at the end every burn alert has fired.
const (
	minutes  = 100
	incident = 40
)

// prom is a Prometheus that has evaluated the generated rules over that world.
type prom struct {
	engine  *promql.Engine
	storage storage.Storage
}

func at(minute int) time.Time { return time.Unix(0, 0).UTC().Add(time.Duration(minute) * time.Minute) }

func recorded(t *testing.T, set *slo.Set) *prom {
	t.Helper()
	var series strings.Builder
	fmt.Fprintln(&series, "load 1m")
	late := fmt.Sprintf("0x%d 1+1x%d", incident, minutes-incident)
	add := func(metric, labels, values string) { fmt.Fprintf(&series, "  %s{%s} %s\n", metric, labels, values) }
	for _, f := range set.Files {
		environment := f.Environment
		if environment == "" {
			environment = "prod"
		}
		base := fmt.Sprintf(`instance="a",job="agentslo",slo_service=%q,environment=%q,agent="main"`, f.Service, environment)
		for _, o := range f.SLOs {
			of := base + fmt.Sprintf(",slo=%q", o.Name)
			for verdict, values := range map[string]string{"good": "0+1x100", "bad": late, "unknown": "0+1x100", "excluded": "0x9 1x9 2x9 3x9 4x9 5x9 6x9 7x9 8x9 9x9 10"} {
				add("agentslo_events_total", of+fmt.Sprintf(",verdict=%q", verdict), values)
			}
			for _, d := range f.Dimensions {
				add("agentslo_events_by_"+d.Name+"_total", of+fmt.Sprintf(`,verdict="bad",%s="1.4.0"`, d.Name), late)
				add("agentslo_events_by_"+d.Name+"_total", of+fmt.Sprintf(`,verdict="good",%s="1.4.0"`, d.Name), "0+1x100")
			}
			if o.Scope == slo.ScopeTool {
				add("agentslo_events_by_tool_total", of+`,verdict="bad",tool="search"`, late)
				add("agentslo_events_by_tool_total", of+`,verdict="good",tool="search"`, "0+1x100")
			}
			add("agentslo_reasons_total", of+`,verdict="bad",reason="no_call"`, late)
			add("agentslo_reasons_total", of+`,verdict="unknown",reason="no_verdict"`, "0+1x100")
			add("agentslo_reasons_total", of+`,verdict="good",reason=""`, "0+1x100")
		}
		add("agentslo_runs_total", base+`,outcome="answered"`, "0+2x100")
		add("agentslo_runs_total", base+`,outcome="error"`, late)
		add("agentslo_tool_calls_total", base+`,tool="search",result="ok"`, "0+3x100")
		add("agentslo_tool_calls_total", base+`,tool="search",result="transient"`, late)
		add("agentslo_tool_failures_total", base+`,tool="search",class="transient",persistence="recovered"`, late)
		add("agentslo_first_wrong_total", base+`,what="failed_call",tool="search"`, late)
		add("agentslo_blocked_runs_total", base+`,tool="search",class="transient",outcome="answered"`, late)
		add("agentslo_tokens_total", base+`,model="gpt-5",type="input"`, "0+500x100")
		for metric, sum := range map[string]string{"agentslo_run_duration_seconds": "0+6x100", "agentslo_run_cost_usd": "0+0.02x100", "agentslo_run_tool_calls": "0+4x100"} {
			// Of two runs a minute one is at most 1, the other between 1 and 5.
			add(metric+"_bucket", base+`,le="1"`, "0+1x100")
			add(metric+"_bucket", base+`,le="5"`, "0+2x100")
			add(metric+"_bucket", base+`,le="+Inf"`, "0+2x100")
			add(metric+"_sum", base, sum)
			add(metric+"_count", base, "0+2x100")
		}
	}
	p := &prom{engine: promqltest.NewTestEngine(t, false, 5*time.Minute, 1e6), storage: promqltest.LoadedStorage(t, series.String())}
	p.evaluate(t, set)
	return p
}

func (p *prom) evaluate(t *testing.T, set *slo.Set) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Write(out, set, rules.FormatPrometheus); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	manager := promrules.NewManager(&promrules.ManagerOptions{
		QueryFunc:    promrules.EngineQueryFunc(p.engine, p.storage),
		NotifyFunc:   func(context.Context, string, ...*promrules.Alert) {},
		Context:      context.Background(),
		AppendableV2: p.storage.(storage.AppendableV2), Queryable: p.storage,
		Logger: promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, group := range groups {
		for _, rule := range group.AlertingRules() {
			rule.SetRestored(true) // there is nothing to restore; until then ALERTS is not written
		}
	}
	for minute := 0; minute <= minutes; minute += 4 {
		for _, group := range groups {
			group.Eval(context.Background(), at(minute))
		}
	}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if rule.LastError() != nil {
				t.Fatalf("%s: %v", rule.Name(), rule.LastError())
			}
		}
	}
}

// vector evaluates a query at the end of the world.
func (p *prom) vector(t *testing.T, expr string) promql.Vector {
	t.Helper()
	q, err := p.engine.NewInstantQuery(context.Background(), p.storage, nil, expr, at(minutes))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	result := q.Exec(context.Background())
	v, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return append(promql.Vector(nil), v...)
}

// Every query of every panel and annotation is PromQL that finds something in
// a world where there is something to find.
func TestEveryQueryFindsData(t *testing.T) {
	t.Parallel()
	set := examples(t)
	recorded(t, set).answersAll(t, set)
}

func (p *prom) answersAll(t *testing.T, set *slo.Set) {
	t.Helper()
	for _, d := range all(t, set) {
		for _, panel := range panels(d) {
			for _, q := range queries(panel) {
				if v := p.vector(t, q.Expr); len(v) == 0 {
					t.Errorf("%s / %s: nothing for %s", *d.Title, *panel.Title, q.Expr)
				}
			}
		}
		for _, a := range d.Annotations.List {
			if a.Expr != nil && len(p.vector(t, *a.Expr)) == 0 {
				t.Errorf("%s: no annotation for %s", *d.Title, *a.Expr)
			}
		}
	}
}

// The numbers on the panels are the world's own, counted by hand.
func TestPanelsShowTheWorldsNumbers(t *testing.T) {
	t.Parallel()
	set := load(t, "../examples/support-agent/slo.yaml")
	p := recorded(t, set)
	d, err := dashboards.Service(set, "support-agent")
	if err != nil {
		t.Fatal(err)
	}
	section := sectionOf(t, d, "tool_free: 98% over 30d")
	for _, want := range []struct {
		title  string
		query  int
		values []float64
		within float64
	}{
		{"Measured", 0, []float64{0.98}, 0},
		// 100 good, and 60 bad since the incident.
		{"Measured", 1, []float64{100. / 160}, 1e-12},
		{"Events", 0, []float64{160}, 0},
		{"Events", 1, []float64{120}, 0}, // in the last hour one good and one bad a minute
		{"Budget left", 0, []float64{1 - 60./160/0.02}, 1e-9},
		{"Burn rates", 0, []float64{25}, 1e-9}, // half of the last hour's events, 2% may be
		{"Verdicts", 0, []float64{60}, 0},
		{"Verdicts", 1, []float64{60}, 0},
		{"Verdicts", 2, []float64{60}, 0},
		{"Verdicts", 3, []float64{6}, 0},
		// 120 events of which half are bad: 60 ln(0.5/0.02) + 60 ln(0.5/0.98).
		{"Evidence", 0, []float64{60*math.Log(25) + 60*math.Log(0.5/0.98)}, 1e-6},
	} {
		panel := section[want.title]
		if panel == nil {
			t.Errorf("no panel %q", want.title)
			continue
		}
		v := p.vector(t, queries(panel)[want.query].Expr)
		if len(v) != len(want.values) {
			t.Errorf("%s: %d series, want %d", want.title, len(v), len(want.values))
			continue
		}
		for i, value := range want.values {
			if math.Abs(v[i].F-value) > want.within {
				t.Errorf("%s, query %d: %v, want %v", want.title, want.query, v[i].F, value)
			}
		}
	}
}

// Steps and segments: what a tool's calls make of the runs, and which tenant and
// tool are proven to be worse than their objective allows.
func TestStepsAndSegments(t *testing.T) {
	t.Parallel()
	set := parse(t, `
service: s
dimensions: {tenant: {baggage: tenant, keep: 50}}
slos:
  completion: {objective: 99%}
  tool_calls: {sli: completion, scope: tool, objective: 98%}
  sub_agents: {sli: completion, scope: agent, objective: 98%}
`)
	p := recorded(t, set)
	p.answersAll(t, set)
	d, err := dashboards.Service(set, "s")
	if err != nil {
		t.Fatal(err)
	}
	section := sectionOf(t, d, "Runs, tools and tokens")
	// Every SLO saw 100 good and 60 bad events, all of one tool, agent and tenant.
	for title, want := range map[string][]float64{
		"Completion, measured and predicted from steps": {100. / 160, 100. / 160, 100. / 160},
		"Worst by tenant, last 24 hours":                {60. / 160, 60, 160, 60*math.Log(60/160./0.01) + 100*math.Log(100/160./0.99)},
		"Worst by tool, last 24 hours":                  {60. / 160, 60, 160, 60*math.Log(60/160./0.02) + 100*math.Log(100/160./0.98)},
	} {
		panel := section[title]
		if panel == nil {
			t.Errorf("no panel %q", title)
			continue
		}
		for i, q := range queries(panel) {
			v, found := p.vector(t, q.Expr), false
			for _, x := range v {
				if name := x.Metric.Get("slo"); name == "" || name == "completion" || name == "tool_calls" && strings.Contains(title, "tool") {
					found = found || math.Abs(x.F-want[i]) < 1e-9
				}
			}
			if !found {
				t.Errorf("%s, query %d: %v, want %v among them", title, i, v, want[i])
			}
		}
	}
}

// Rows of the budget table meet on their labels: each column has the same
// label sets, one for each SLO.
func TestTheTablesColumnsHaveTheSameRows(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain": "slos: {completion: {objective: 99%}, tool_free: {objective: 98%}}",
		"by":    "by: [agent]\nslos: {completion: {objective: 99%}, tool_free: {objective: 98%}}",
		"of one environment": "environment: prod\nlabels: {team: support}\n" +
			"slos: {completion: {objective: 99%}, tool_free: {objective: 98%}}",
		"calendar window": "window: {calendar: quarter, timezone: Europe/Berlin}\nslos: {completion: {objective: 99%}, tool_free: {objective: 98%}}",
		"short window":    "window: 1d\nslos: {completion: {objective: 99%}, tool_free: {objective: 98%}}",
	} {
		set := parse(t, "apiVersion: agentslo/v1\nkind: AgentSLO\nservice: s\n"+text+"\n")
		p := recorded(t, set)
		p.answersAll(t, set)
		d, err := dashboards.Overview(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, panel := range panels(d) {
			if *panel.Title != "Error budgets" {
				continue
			}
			var rows string
			for i, q := range queries(panel) {
				var rowLabels []string
				for _, sample := range p.vector(t, q.Expr) {
					rowLabels = append(rowLabels, sample.Metric.DropReserved(func(name string) bool { return name == "__name__" }).String())
				}
				slices.Sort(rowLabels)
				got := strings.Join(rowLabels, " ")
				if len(rowLabels) != 2 {
					t.Errorf("%s: %s has %d rows, want 2: %s", name, q.Expr, len(rowLabels), got)
				}
				if i == 0 {
					rows = got
				} else if got != rows {
					t.Errorf("%s: rows of %s are %s, those of the first column %s", name, q.Expr, got, rows)
				}
			}
		}
	}
}

func sectionOf(t *testing.T, d dashboard.Dashboard, title string) map[string]*dashboard.Panel {
	t.Helper()
	section := map[string]*dashboard.Panel{}
	in := false
	for _, p := range d.Panels {
		if p.RowPanel != nil {
			in = *p.RowPanel.Title == title
		} else if in {
			section[*p.Panel.Title] = p.Panel
		}
	}
	if len(section) == 0 {
		t.Fatalf("no section %q", title)
	}
	return section
}

// Prometheus 2.42 knows no experimental functions.
func TestQueriesNeedNoExperimentalFunction(t *testing.T) {
	plain := parser.NewParser(parser.Options{})
	for _, d := range all(t, examples(t)) {
		for _, panel := range panels(d) {
			for _, q := range queries(panel) {
				if _, err := plain.ParseExpr(q.Expr); err != nil {
					t.Errorf("%s / %s: %v", *d.Title, *panel.Title, err)
				}
			}
		}
	}
}
