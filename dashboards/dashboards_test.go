package dashboards_test

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/agentslo/agentslo/dashboards"
	"github.com/agentslo/agentslo/slo"
)

func load(t *testing.T, paths ...string) *slo.Set {
	t.Helper()
	set, err := slo.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parse(t *testing.T, text string) *slo.Set {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slo.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return load(t, path)
}

func examples(t *testing.T) *slo.Set {
	return load(t, "../examples/support-agent/slo.yaml", "../examples/rag-agent/slo.yaml", "../examples/coding-agent/slo.yaml")
}

// all builds the overview and every service's dashboard.
func all(t *testing.T, set *slo.Set) []dashboard.Dashboard {
	t.Helper()
	overview, err := dashboards.Overview(set)
	if err != nil {
		t.Fatal(err)
	}
	list := []dashboard.Dashboard{overview}
	for _, service := range dashboards.Services(set) {
		d, err := dashboards.Service(set, service)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// panels lists a dashboard's panels without rows.
func panels(d dashboard.Dashboard) []*dashboard.Panel {
	var list []*dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			list = append(list, p.Panel)
		}
	}
	return list
}

func queries(p *dashboard.Panel) []*prometheus.Dataquery {
	var list []*prometheus.Dataquery
	for _, target := range p.Targets {
		switch q := target.(type) {
		case *prometheus.Dataquery:
			list = append(list, q)
		case prometheus.Dataquery:
			list = append(list, &q)
		}
	}
	return list
}

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	for _, d := range all(t, examples(t)) {
		ids := map[uint32]bool{}
		for _, p := range panels(d) {
			name := *d.Title + " / " + *p.Title
			if p.Title == nil || *p.Title == "" {
				t.Errorf("%s: a panel without a title", *d.Title)
			}
			if p.Description == nil || len(*p.Description) < 20 {
				t.Errorf("%s: no description", name)
			}
			if p.FieldConfig == nil || p.FieldConfig.Defaults.Unit == nil || *p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%s: no unit", name)
			}
			if len(queries(p)) == 0 {
				t.Errorf("%s: no query", name)
			}
			if p.Datasource == nil || *p.Datasource.Uid != "${datasource}" {
				t.Errorf("%s: the data source is not the variable", name)
			}
			for _, q := range queries(p) {
				if q.Expr == "" {
					t.Errorf("%s: query %s is empty", name, *q.RefId)
				}
				if q.Datasource == nil || *q.Datasource.Uid != "${datasource}" {
					t.Errorf("%s: query %s does not ask the data source variable", name, *q.RefId)
				}
			}
			if p.Id == nil || ids[*p.Id] {
				t.Errorf("%s: no id of its own", name)
			} else {
				ids[*p.Id] = true
			}
		}
		if len(d.Templating.List) != 1 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: variables %+v, want the data source alone", *d.Title, d.Templating.List)
		}
	}
}

// Panels that overlap or stand out of the 24 columns are drawn wrongly.
func TestPanelsFillTheGridWithoutOverlap(t *testing.T) {
	for _, d := range all(t, examples(t)) {
		taken := map[[2]uint32]string{}
		claim := func(name string, g *dashboard.GridPos) {
			if g.W == 0 || g.H == 0 || g.X+g.W > 24 {
				t.Errorf("%s: %s is at %+v", *d.Title, name, *g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]uint32{x, y}]; other != "" {
						t.Fatalf("%s: %s lies over %s at column %d, line %d", *d.Title, name, other, x, y)
					}
					taken[[2]uint32{x, y}] = name
				}
			}
		}
		for _, p := range d.Panels {
			if p.Panel != nil {
				claim(*p.Panel.Title, p.Panel.GridPos)
			} else {
				claim("row "+*p.RowPanel.Title, p.RowPanel.GridPos)
			}
		}
	}
}

func TestServiceHasASectionForEachObjective(t *testing.T) {
	set := examples(t)
	d, err := dashboards.Service(set, "coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, p := range d.Panels {
		if p.RowPanel != nil {
			rows = append(rows, *p.RowPanel.Title)
		}
	}
	want := []string{"completion: 95% over 30d", "correctness: 80% over 30d", "tool_free: 95% over 30d", "no_progress: 97% over 30d",
		"latency: 90% over 30d", "cost: 97% over 30d", "small_steps: 90% over 30d", "Runs, tools and tokens"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	for _, title := range []string{"Measured", "Budget left", "Events", "Firing alerts", "Budget burn-down", "Burn rates", "Verdicts", "Reasons", "Evidence"} {
		n := 0
		for _, p := range panels(d) {
			if *p.Title == title {
				n++
			}
		}
		// Firing alerts also stands at the top, for the whole service.
		if want := map[bool]int{true: 8, false: 7}[title == "Firing alerts"]; n != want {
			t.Errorf("%d panels %q, want %d", n, title, want)
		}
	}
	if _, err := dashboards.Service(set, "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a service without a file: error %v, want one that names it", err)
	}
}

func TestOverviewAndServicesLinkToEachOther(t *testing.T) {
	set := examples(t)
	overview, err := dashboards.Overview(set)
	if err != nil {
		t.Fatal(err)
	}
	if *overview.Uid != "agentslo-overview" || *overview.Title != "Agent SLOs" {
		t.Errorf("overview is %s %q", *overview.Uid, *overview.Title)
	}
	tags := map[string]bool{}
	for _, l := range overview.Links {
		if l.Type == dashboard.DashboardLinkTypeDashboards {
			tags[l.Tags[0]] = true
		}
	}
	for _, service := range dashboards.Services(set) {
		d, err := dashboards.Service(set, service)
		if err != nil {
			t.Fatal(err)
		}
		if *d.Uid != "agentslo-"+service || *d.Title != "Agent SLOs / "+service {
			t.Errorf("%s is %s %q", service, *d.Uid, *d.Title)
		}
		if !slices.ContainsFunc(d.Tags, func(tag string) bool { return tags[tag] }) {
			t.Errorf("%s: no link of the overview lists tags %q", service, d.Tags)
		}
		if !slices.ContainsFunc(d.Links, func(l dashboard.DashboardLink) bool { return l.Url != nil && *l.Url == "/d/agentslo-overview" }) {
			t.Errorf("%s: no link to the overview", service)
		}
	}
}

// Grafana takes at most 40 characters of letters, digits, - and _.
func TestServiceUID(t *testing.T) {
	for service, want := range map[string]string{
		"support-agent": "agentslo-support-agent",
		"overview":      "", // would be the overview itself
		"Ünïcode agent": "",
		"a/b":           "",
		"a-service-with-a-name-that-is-much-too-long": "",
	} {
		got := dashboards.ServiceUID(service)
		if want != "" && got != want {
			t.Errorf("%q: %s, want %s", service, got, want)
		}
		if len(got) > 40 || got == dashboards.OverviewUID || strings.ContainsFunc(got, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
		}) {
			t.Errorf("%q: %q is no identity for Grafana", service, got)
		}
	}
	if dashboards.ServiceUID("a/b") == dashboards.ServiceUID("a.b") {
		t.Error("two services have one identity")
	}
}

// What is written reads back strictly as the types of the SDK, and is the same
// bytes every time.
func TestWriteIsDeterministicAndStrictlyValid(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	set := examples(t)
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "made", "here")
	for _, dir := range []string{first, second} {
		if err := dashboards.Write(dir, set); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(first, "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("files %q, %v; want the overview and three services", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(filepath.Join(second, filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(again) {
			t.Errorf("%s differs between two writes", filepath.Base(file))
		}
		var d dashboard.Dashboard
		// The SDK returns an empty list of errors as an error.
		if err := d.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		var generic map[string]any
		if err := json.Unmarshal(text, &generic); err != nil || generic["schemaVersion"] == nil {
			t.Errorf("%s: schemaVersion %v, %v", filepath.Base(file), generic["schemaVersion"], err)
		}
	}
}

func TestFilesOfOneServiceStandBelowEachOther(t *testing.T) {
	set := parse(t, `
apiVersion: agentslo/v1
kind: AgentSLO
service: support
environment: prod
slos: {completion: {objective: 99%}}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: support
environment: staging
slos: {completion: {objective: 90%, alert: none}}
`)
	if got := dashboards.Services(set); !slices.Equal(got, []string{"support"}) {
		t.Fatalf("services %q", got)
	}
	d, err := dashboards.Service(set, "support")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, p := range d.Panels {
		if p.RowPanel != nil {
			rows = append(rows, *p.RowPanel.Title)
		}
	}
	want := []string{"completion: 99% over 30d (prod)", "Runs, tools and tokens (prod)", "completion: 90% over 30d (staging)", "Runs, tools and tokens (staging)"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}
