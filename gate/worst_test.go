package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
)

const tenants = support + "dimensions: {tenant: {attribute: app.tenant, keep: 20}}\n"

// by are the streams of an SLO split by a dimension.
func by(name, objective string, values map[string]counts) (streams []stream) {
	for value, c := range values {
		for _, s := range c.of(objective, map[string]string{name: value}) {
			s.metric = "agentslo_events_by_" + name + "_total"
			streams = append(streams, s)
		}
	}
	return streams
}

func order(budgets []gate.Budget) string {
	var lines []string
	for _, b := range budgets {
		lines = append(lines, fmt.Sprintf("%s/%s", b.SLO, b.Split.Value))
	}
	return strings.Join(lines, " ")
}

// Five tenants have runs, so each is judged at 1%, not at 5%. Two bad runs of two
// then prove a ratio of √0.01 = 10%, thirty of a hundred about 20%, ten of ten
// thousand less than 0.1%; one bad run proves nothing, however few there were.
func TestWorstIsWhatIsProven(t *testing.T) {
	p := serve(t, 90*24*time.Hour, by("tenant", "completion", map[string]counts{
		"waits": {good: 70, bad: 30}, "unlucky": {bad: 1}, "big": {good: 9990, bad: 10}, "pair": {bad: 2}, "happy": {good: 50}, "none": {excluded: 5},
	})...)
	budgets := read(t, p, parse(t, tenants), gate.Options{By: "tenant"})
	worst := gate.WorstFirst(budgets, 0)
	if got, want := order(worst), "completion/waits completion/pair completion/big completion/unlucky completion/happy completion/none"; got != want {
		t.Errorf("order\n%s, want\n%s", got, want)
	}
	for value, want := range map[string][2]float64{"pair": {0.1, 1e-9}, "waits": {0.2, 0.01}, "unlucky": {0, 0}, "happy": {0, 0}} {
		for _, b := range worst {
			if got := b.AtLeast.InexactFloat64(); b.Split.Value == value && abs(got-want[0]) > want[1] {
				t.Errorf("%s: at least %v, want %v", value, got, want[0])
			}
		}
	}
	two := gate.WorstFirst(budgets, 2)
	if order(two) != "completion/waits completion/pair" || len(two[1].Notes) != 1 || !strings.Contains(two[1].Notes[0], "4 more values of tenant not shown") {
		t.Errorf("the two worst are %s, notes %q", order(two), two[len(two)-1].Notes)
	}
	if len(budgets[0].Notes)+len(budgets[1].Notes) != 0 {
		t.Error("notes of a shortened list are on the whole one too")
	}
}

// Each SLO has its own order, and unsplit budgets keep theirs.
func TestWorstOfEachSLO(t *testing.T) {
	set := parse(t, strings.Replace(tenants, "slos: {completion: {objective: 99%}}", "slos: {completion: {objective: 99%}, tool_free: {objective: 99%}}", 1))
	p := serve(t, 90*24*time.Hour, append(by("tenant", "completion", map[string]counts{"a": {good: 10}, "b": {good: 1, bad: 9}}),
		by("tenant", "tool_free", map[string]counts{"a": {bad: 10}, "b": {good: 9}})...)...)
	if got, want := order(gate.WorstFirst(read(t, p, set, gate.Options{By: "tenant"}), 0)), "completion/b completion/a tool_free/a tool_free/b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	whole := gate.WorstFirst(read(t, p, set, gate.Options{}), 0)
	if len(whole) != 2 || whole[0].SLO != "completion" || whole[0].AtLeast != nil {
		t.Errorf("%+v", whole)
	}
}

// What is folded is one value among the others, and says that it is several.
func TestOverflowIsTold(t *testing.T) {
	p := serve(t, 90*24*time.Hour, by("tenant", "completion", map[string]counts{"a": {good: 10}, "__overflow__": {good: 5, bad: 2}})...)
	worst := gate.WorstFirst(read(t, p, parse(t, tenants), gate.Options{By: "tenant"}), 0)
	if order(worst) != "completion/__overflow__ completion/a" || len(worst[0].Notes) != 1 || !strings.Contains(worst[0].Notes[0], "7 events are of values of tenant that are not told apart") {
		t.Errorf("%s, notes %q", order(worst), worst[0].Notes)
	}
}
