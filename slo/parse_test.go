package slo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// wanted reads the faults that a fixture states in its comments:
// "# fault 3:24 part of the message".
func wanted(t *testing.T, data []byte) []slo.Fault {
	t.Helper()
	var faults []slo.Fault
	for _, m := range regexp.MustCompile(`(?m)^# fault (\d+):(\d+) (.*)$`).FindAllStringSubmatch(string(data), -1) {
		var f slo.Fault
		fmt.Sscan(m[1], &f.Line)
		fmt.Sscan(m[2], &f.Column)
		f.Message = strings.TrimSpace(m[3])
		faults = append(faults, f)
	}
	return faults
}

func fixtures(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/" + pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures %s: %v", pattern, err)
	}
	return names
}

func TestGoodFiles(t *testing.T) {
	for _, name := range fixtures(t, "*.good.yaml") {
		if _, err := slo.Load(name); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func TestBadFilesGiveEveryFaultWithItsPosition(t *testing.T) {
	for _, name := range fixtures(t, "*.bad.yaml") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := wanted(t, data)
			if len(want) == 0 {
				t.Fatal("the fixture states no fault")
			}
			set, err := slo.Load(name)
			var got slo.Faults
			if !errors.As(err, &got) || set != nil {
				t.Fatalf("want faults, got %v, set %v", err, set)
			}
			unseen := slices.Clone(got)
			for _, w := range want {
				i := slices.IndexFunc(unseen, func(f slo.Fault) bool {
					return f.Line == w.Line && f.Column == w.Column && strings.Contains(f.Message, w.Message)
				})
				if i < 0 {
					t.Errorf("missing %d:%d %s", w.Line, w.Column, w.Message)
					continue
				}
				unseen = slices.Delete(unseen, i, i+1)
			}
			for _, f := range unseen {
				t.Errorf("not wanted: %v", f)
			}
			for _, f := range got {
				if f.Path != name || strings.Contains(f.Message, "\n") {
					t.Errorf("not one line with its file: %v", f)
				}
			}
			if !slices.IsSortedFunc(got, func(a, b slo.Fault) int { return (a.Line-b.Line)*10000 + a.Column - b.Column }) {
				t.Errorf("not in the order of the file:\n%v", got)
			}
		})
	}
}

func TestTenMistakesAreTenLines(t *testing.T) {
	_, err := slo.Load("testdata/ten.bad.yaml")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 10 {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
	for _, line := range lines {
		if !regexp.MustCompile(`^testdata/ten\.bad\.yaml:\d+:\d+: \S`).MatchString(line) {
			t.Errorf("no position: %s", line)
		}
	}
}

func TestDefaults(t *testing.T) {
	set, err := slo.Load("testdata/minimal.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := set.Files[0]
	o := f.Objective("completion")
	for what, ok := range map[string]bool{
		"agents":     slices.Equal(f.Agents, []string{"*"}),
		"window":     f.Window.Rolling == 30*24*time.Hour && f.Window.Name == "30d",
		"sampling":   f.Sampling == slo.SamplingNone,
		"runs":       f.Runs.Root == slo.RootAgent && f.Runs.QuietPeriod == 10*time.Second && f.Runs.IdleTimeout == time.Hour && f.Runs.MaxAge == 24*time.Hour && f.Runs.MaxSpans == 100000,
		"excluded":   f.MaxExcluded.String() == "0.2",
		"tools":      f.Tools.Expect == slo.ExpectAlways && slices.Equal(f.Tools.Evidence, []string{"*"}),
		"policy":     f.Policy.FreezeBelow.IsZero() && f.Policy.ResumeAbove.String() == "0.1",
		"falsePages": f.Alerting.FalsePages.String() == "0.3",
		"version":    f.APIVersion == "agentslo/v1" && f.Kind == "AgentSLO",
		"objective":  o != nil && o.SLI == "completion" && o.Target.String() == "0.99" && o.Budget().String() == "0.01" && o.Alert == slo.AlertPage,
		"place":      o != nil && o.Line == 2 && o.Col == 8,
		"none":       f.Objective("latency") == nil && len(f.By) == 0 && f.Environment == "",
	} {
		if !ok {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// The example of the file format says what every key means.
func TestEveryKeyArrives(t *testing.T) {
	set, err := slo.Load("testdata/design.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := set.Files[0]
	get := func(name string) *slo.Objective {
		o := f.Objective(name)
		if o == nil {
			t.Fatalf("no SLO %s", name)
		}
		return o
	}
	correctness, first := get("correctness"), get("first_token")
	for what, ok := range map[string]bool{
		"service":     f.Service == "support-agent" && f.Environment == "prod",
		"agents":      slices.Equal(f.Agents, []string{"support-*", "triage"}),
		"aliases":     f.AgentLabel("support-old") == "support-main" && f.AgentLabel("other") == "other",
		"match":       f.Match["cloud.region"] == "eu-west-1",
		"labels":      f.Labels["team"] == "support",
		"dimensions":  len(f.Dimensions) == 2 && f.Dimensions[0] == slo.Dimension{Name: "tenant", Attribute: "app.tenant", Keep: 50},
		"exclude":     f.Exclude[0].Name == "load_test" && f.Exclude[0].When != nil,
		"tools":       f.AnswerTool("send_reply") && f.NotCountedTool("route_x") && f.RetrievalTool("search_docs") && f.WriteTool("refund_all") && f.Tools.Required != nil,
		"prices":      f.Prices["gpt-5"].CacheWrite.String() == "1.25",
		"outcomes":    f.Outcomes[0].Outcome == slo.Escalated && f.Outcomes[0].When != nil,
		"order":       f.SLOs[0].Name == "completion" && f.SLOs[8].Name == "short_runs",
		"correctness": len(correctness.Evaluations) == 2 && correctness.Evaluations[0].MinScore.String() == "0.7" && correctness.Evaluations[1].GoodLabels[0] == "up" && correctness.Combine == slo.CombineAll && correctness.Wait == time.Hour && correctness.ExpectedCoverage.String() == "1",
		"latency":     get("latency").Threshold == 30*time.Second && get("latency").Measure == slo.MeasureRun,
		"first_token": first.SLI == "latency" && first.Measure == slo.MeasureFirstToken && first.Alert == slo.AlertTicket && first.AppliesTo("triage") && !first.AppliesTo("support-a"),
		"grounding":   get("grounding").Evaluations[1].MaxScore.String() == "0.2",
		"cost":        get("cost").MaxUSD.String() == "0.25",
		"no_progress": get("no_progress").RepeatsOf("check_job_status") == 20 && get("no_progress").RepeatsOf("other") == 3,
		"custom":      get("short_runs").Good != nil && get("short_runs").When != nil,
		"alerting":    f.Alerting.Runbook == "https://runbooks.example.com/{{service}}/{{slo}}" && f.Alerting.PageLabels["severity"] == "page" && f.Alerting.TicketLabels["severity"] == "ticket",
	} {
		if !ok {
			t.Errorf("%s did not arrive", what)
		}
	}
	want := []string{"app.synthetic", "app.tenant", "cloud.region", "service.version"}
	if got := set.AttributeNames(); !slices.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
}

func TestScopesArrive(t *testing.T) {
	set, err := slo.Load("testdata/scopes.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := set.Files[0]
	runs, calls, search, agents := f.Objective("completion"), f.Objective("tool_calls"), f.Objective("search"), f.Objective("sub_agents")
	for what, ok := range map[string]bool{
		"run is no step":             runs.Scope == slo.ScopeRun && !runs.OfSteps() && runs.Alert == slo.AlertPage,
		"steps do not page unasked":  calls.Alert == slo.AlertTicket && agents.Alert == slo.AlertTicket,
		"asked they do":              search.Alert == slo.AlertPage,
		"tool calls":                 calls.Scope == slo.ScopeTool && calls.OfSteps() && !calls.NamesTool("search_docs"),
		"tools":                      search.NamesTool("search_docs") && !search.NamesTool("research"),
		"sub-agents":                 agents.Scope == slo.ScopeAgent && agents.OfSteps() && agents.When != nil,
		"the file's scopes":          f.HasScope(slo.ScopeAgent) && f.HasScope(slo.ScopeTool),
		"an SLO says none by itself": set.Files[0].SLOs[0].Tools == nil,
	} {
		if !ok {
			t.Errorf("%s: did not arrive", what)
		}
	}
	// Baggage is copied to spans under its key, or with a prefix.
	want := []string{"app.plan", "baggage.tenant", "service.version", "tenant"}
	if got := set.AttributeNames(); !slices.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
}

func TestTemplatesHaveOneSpelling(t *testing.T) {
	set, err := slo.Load("testdata/expressions.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Files[0].Alerting.Runbook; got != "https://example.com/{{environment}}/{{service}}/{{slo}}" {
		t.Error(got)
	}
}

func TestMergedKeys(t *testing.T) {
	set, err := slo.Load("testdata/merge.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := set.Files[0]
	if o := f.Objective("fast"); o.SLI != "latency" || o.Threshold != 3*time.Second || o.Alert != slo.AlertTicket {
		t.Errorf("a mapping's own keys win over merged ones: %+v", o)
	}
	if o := f.Objective("first"); o.Measure != slo.MeasureFirstToken || o.Target.String() != "0.99" || o.Threshold != 30*time.Second {
		t.Errorf("all merged mappings count: %+v", o)
	}
}

func TestPercentAndFractionAreTheSameExactNumber(t *testing.T) {
	for text, want := range map[string]string{
		"95%": "0.95", "0.95": "0.95", "99.9%": "0.999", "0.999": "0.999", "99.99 %": "0.9999", ".5": "0.5", "0.1%": "0.001", "1": "1", "100%": "1", "0": "0", "33.333333333333%": "0.33333333333333", "5e-1": "0.5",
	} {
		if d, err := slo.ParseRatio(text); err != nil || d.String() != want {
			t.Errorf("%s: %v %v, want %s", text, d, err, want)
		}
	}
	for text, hint := range map[string]string{
		"95": "95%?", "99.9": "99.9%?", "1.5": "1.5%?", "": "share", "%": "share", "nan": "finite", "NaN%": "finite", "-inf": "finite", "-1%": "negative", "1e2": "1e2%?", "1e999": "plain", "1,5%": "plain", "0.9999999999999999999999999999999999": "digits", "९५%": "plain",
	} {
		if d, err := slo.ParseRatio(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v %v, want %q", text, d, err, hint)
		}
	}
	if d, _ := slo.ParseRatio("99.9%"); slo.FormatRatio(d) != "99.9%" {
		t.Errorf("written back as %s", slo.FormatRatio(d))
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1h": time.Hour, "30d": 720 * time.Hour, "1w": 168 * time.Hour, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "0s": 0, "0": 0, "2w1d": 15 * 24 * time.Hour, "1m": time.Minute,
	} {
		if d, err := slo.ParseDuration(text); err != nil || d != want {
			t.Errorf("%s: %v %v, want %v", text, d, err, want)
		}
	}
	for _, text := range []string{"", "s", "10", "-1s", "1 h", "1y", "1M", "10sec", "1h-1m", "1h 30m", "+1h", "999999999999999d", "1e3s", "٣s", "30d\n"} {
		if d, err := slo.ParseDuration(text); err == nil {
			t.Errorf("%q: %v, want an error", text, d)
		}
	}
	for d, want := range map[time.Duration]string{720 * time.Hour: "30d", 7 * 24 * time.Hour: "7d", 90 * time.Minute: "1h30m", 0: "0s", 1500 * time.Millisecond: "1s500ms", -time.Hour: "-1h", time.Microsecond: "0s"} {
		if got := slo.FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestCalendarWindowKeepsItsZone(t *testing.T) {
	set, err := slo.Load("testdata/calendar.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if w := set.Files[0].Window; w.Calendar != "month" || w.Name != "month" || w.Rolling != 0 || w.Location.String() != "Europe/Berlin" {
		t.Errorf("%+v", w)
	}
}

func TestWhatIsNoYAML(t *testing.T) {
	good := "service: a\nslos: {completion: {objective: 99%}}\n"
	for name, c := range map[string]struct {
		data string
		want string // "" for none
	}{
		"byte order mark":     {"\ufeff" + good, ""},
		"CRLF":                {strings.ReplaceAll(good, "\n", "\r\n"), ""},
		"no last line end":    {strings.TrimSuffix(good, "\n"), ""},
		"document markers":    {"---\n" + good + "...\n", ""},
		"YAML directive":      {"%YAML 1.1\n---\n" + good, ""},
		"empty":               {"", "slo.yaml:1:1: the file is empty"},
		"blank":               {"\n\n  \n", "slo.yaml:1:1: the file is empty"},
		"comments":            {"# nothing\n", "slo.yaml:1:1: the file is empty"},
		"empty documents":     {"---\n---\n", "slo.yaml:1:1: the file is empty"},
		"binary":              {"\x7fELF\x02\x01\x01\x00\x00", "slo.yaml:1:1: the control character 0x7f: the file is no text"},
		"NUL":                 {"service: a\nx: \x00", "slo.yaml:2:4: the control character 0x00"},
		"not UTF-8":           {"service: caf\xe9\n", "slo.yaml:1:13: the byte 0xe9 is no UTF-8"},
		"UTF-16":              {"\xff\xfes\x00e\x00", "slo.yaml:1:1: the file is UTF-16"},
		"JSON":                {`{"service": "a", "slos": {"completion": {"objective": "99%"}}}`, ""},
		"unknown alias":       {"service: *a\n", "slo.yaml:1:10: this is no YAML: unknown anchor 'a' referenced"},
		"alias to itself":     {"service: a\nslos: &a {completion: *a}\n", "slo.yaml:2:11: "},
		"merge with itself":   {"service: a\nslos:\n  completion: &a {<<: *a, objective: 99%}\n", "slo.yaml:3:"},
		"columns after a tab": {"service: a\nslos: {\tcompletion: {objective: 100%}}\n", "slo.yaml:2:33: objective"},
		"columns after é":     {"service: a\nlabels: {team: \"é\", slo: x}\nslos: {completion: {objective: 99%}}\n", "slo.yaml:2:21: "},
	} {
		_, err := slo.Parse("slo.yaml", []byte(c.data))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestFaultsBeforeBrokenYAMLAreKept(t *testing.T) {
	_, err := slo.Parse("x", []byte("service: a\nslos: {completion: {objective: 95}}\n---\n{"))
	if err == nil || !strings.Contains(err.Error(), "x:2:32: ") || !strings.Contains(err.Error(), "no YAML") {
		t.Error(err)
	}
}

func TestAliasesDoNotMultiply(t *testing.T) {
	var b strings.Builder
	b.WriteString("service: a\nslos:\n  s0: &s {sli: correctness, objective: 99%, evaluations: &e [")
	for i := range 3000 {
		fmt.Fprintf(&b, "{name: e%d, min_score: 1},", i)
	}
	b.WriteString("]}\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  t%d: *s\n", i)
	}
	start := time.Now()
	_, err := slo.Parse("bomb.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "aliases multiply") {
		t.Errorf("%.200v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestForeignFileHasBoundedFaults(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	_, err := slo.Parse("x.yaml", []byte(b.String()))
	var faults slo.Faults
	if !errors.As(err, &faults) || len(faults) > 250 || !strings.Contains(err.Error(), "the rest is left out") {
		t.Errorf("%d faults", len(faults))
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := write("slos/a.yaml", "service: a\nagents: [a]\nslos: {completion: {objective: 99%}}\n")
	write("slos/b.yml", "service: b\nagents: [b]\nslos: {completion: {objective: 99%}}\n")
	write("slos/.hidden.yaml", "nonsense")
	write("slos/README.md", "nonsense")
	write("slos/sub/c.yaml", "nonsense")
	set, err := slo.Load(filepath.Join(dir, "slos"), a)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Files) != 2 || set.Files[0].Service != "a" || set.Files[1].Service != "b" || set.Files[0].Path != a {
		t.Errorf("%+v", set.Files)
	}

	other := write("other.yaml", "service: a\nagents: [x]\nruns: {max_age: 1h}\nslos: {completion: {objective: 99%}}\n")
	_, err = slo.Load(a, other)
	for _, want := range []string{other + ":4:8: SLO completion of service a is claimed already by " + a + ":3:8", other + ":3:7: runs differs from " + a + ":1:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}

	big := filepath.Join(dir, "big.yaml")
	if f, err := os.Create(big); err != nil || f.Truncate(100<<20) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.yaml")
	_, err = slo.Load(big, empty, missing, write("bad.yaml", "x: 1\n"))
	var faults slo.Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for _, want := range []string{
		big + ": the file of 100.0 MiB is no SLO file: those have at most 1 MiB",
		empty + ": the folder holds no .yaml or .yml file",
		missing + ": no such file or directory",
		"bad.yaml:1:1: unknown key x",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if _, err := slo.Load(); err == nil {
		t.Error("no path at all must be an error")
	}
	var fault slo.Fault
	if !errors.As(err, &fault) {
		t.Error("a single fault can be taken out of the error")
	}
}

// Files as large as may be, made to be slow.
func TestParseDoesNotHang(t *testing.T) {
	full := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < slo.MaxFileSize-200; i++ {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	long := strings.Repeat("*a", 100)
	for name, text := range map[string]string{
		"unknown keys":  full("k%d: v\n"),
		"documents":     full("---\nservice: s%[1]d\nagents: [a%[1]d]\nslos: {completion: {objective: 99%%}}\n"),
		"globs":         full("---\nservice: s%[1]d\nagents: ['" + long + "%[1]d*']\nslos: {completion: {objective: 99%%}}\n"),
		"a late break":  full("k%d: v\n") + "{",
		"nothing reads": "service: a\nslos: {\n" + full("  a%d: {objective: 99%%},\n"),
	} {
		start := time.Now()
		slo.Parse("x", []byte(text))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
