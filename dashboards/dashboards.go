// Package dashboards turns SLO files into Grafana dashboards: an overview of
// all budgets and one dashboard a service. Grafana is known here and nowhere
// else; queries come from package rules.
package dashboards

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// OverviewUID is the overview's identity in Grafana; it never changes.
const OverviewUID = "agentslo-overview"

// Tags of the dashboards: every one has the first, those of services the second.
const (
	tag        = "agentslo"
	serviceTag = "agentslo-service"
)

// Write writes the dashboards of all files of the set into a folder, which it
// makes if need be: overview.json, and UID.json for each service. The same set
// gives the same bytes.
func Write(dir string, set *slo.Set) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	overview, err := Overview(set)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "overview.json"), overview); err != nil {
		return err
	}
	for _, service := range Services(set) {
		d, err := Service(set, service)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, ServiceUID(service)+".json"), d); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, d dashboard.Dashboard) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// Services lists the services of the set, sorted.
func Services(set *slo.Set) []string {
	var services []string
	for _, f := range set.Files {
		services = append(services, f.Service)
	}
	slices.Sort(services)
	return slices.Compact(services)
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,30}$`)

// ServiceUID is the identity in Grafana of a service's dashboard: the name
// itself where Grafana allows it, else a hash of it.
func ServiceUID(service string) string {
	if plainName.MatchString(service) && service != "overview" {
		return "agentslo-" + service
	}
	h := fnv.New64a()
	h.Write([]byte(service)) //nolint:errcheck // never fails
	return fmt.Sprintf("agentslo-%016x", h.Sum64())
}

// newBoard is a dashboard with what all of them have: the data source as a
// variable, and alerts that fired as annotations.
func newBoard(uid, title, description, from string, firing string) *board {
	b := dashboard.NewDashboardBuilder(title).
		Uid(uid).
		Description(description).
		Tags([]string{tag}).
		Timezone("browser").
		Time(from, "now").
		Refresh("1m").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		Annotation(dashboard.NewAnnotationQueryBuilder().
			Name("Burn alerts").
			Datasource(datasource()).
			Enable(true).
			IconColor("red").
			Expr(firing).
			Step("60s").
			TitleFormat("{{alertname}} {{slo}}").
			TextFormat("{{severity}} {{tier}}").
			TagKeys(rules.LabelService + "," + rules.LabelSLO))
	return &board{builder: b}
}

// visible undoes the SDK's default of hiding links and annotations in a menu.
func visible(d dashboard.Dashboard) dashboard.Dashboard {
	for i := range d.Links {
		d.Links[i].Placement = nil
	}
	for i := range d.Annotations.List {
		d.Annotations.List[i].Placement = nil
	}
	return d
}

// board is a dashboard under construction. Panels are numbered as they come.
type board struct {
	builder *dashboard.DashboardBuilder
	panels  uint32
}

func (b *board) row(title string) {
	b.panels++
	b.builder.WithRow(dashboard.NewRowBuilder(title).Id(b.panels))
}

// add puts a panel on the current line; a line is 24 wide.
func (b *board) add(panel cog.Builder[dashboard.Panel], width, height uint32) {
	b.panels++
	b.builder.WithPanel(placed{panel, b.panels, width, height})
}

func (b *board) build() (dashboard.Dashboard, error) {
	d, err := b.builder.Build()
	return visible(d), err
}

// placed is a panel with its number and size.
type placed struct {
	cog.Builder[dashboard.Panel]
	id, width, height uint32
}

func (p placed) Build() (dashboard.Panel, error) {
	panel, err := p.Builder.Build()
	if err != nil {
		return panel, err
	}
	panel.Id = &p.id
	panel.GridPos = &dashboard.GridPos{W: p.width, H: p.height}
	return panel, nil
}
