//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func errorf(format string, arguments ...any) error { return fmt.Errorf(format, arguments...) }

// distribution builds the Collector that builder-config.yaml describes, as its
// comment says how.
var distribution = sync.OnceValues(func() (string, error) {
	build := exec.Command("go", "run", "go.opentelemetry.io/collector/cmd/builder@v0.165.0", "--config", "builder-config.yaml")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return filepath.Abs(filepath.Join(root, "dist", "agentslo-collector"))
})

// collector starts the distribution with the example's config on free ports.
type collector struct {
	*process
	otlp, metrics string
}

func startCollector(t *testing.T, settings ...string) collector {
	t.Helper()
	binary, err := distribution()
	if err != nil {
		t.Fatalf("building the distribution: %v", err)
	}
	c := collector{otlp: port(t), metrics: port(t)}
	arguments := []string{"--config", "examples/collector/config.yaml"}
	for _, setting := range append([]string{
		"receivers::otlp::protocols::http::endpoint: " + c.otlp,
		"receivers::otlp::protocols::grpc::endpoint: " + port(t),
		"exporters::agent_slo::endpoint: " + c.metrics,
		"extensions::healthcheckv2::http::endpoint: " + port(t),
		"service::telemetry::metrics::level: none",
	}, settings...) {
		arguments = append(arguments, "--config", "yaml:"+setting)
	}
	c.process = start(t, []string{"AGENTSLO_FILE=" + file, "AGENTSLO_STATE=" + t.TempDir()}, binary, arguments...)
	c.says(t, "Everything is ready", time.Minute)
	return c
}

// The distribution that the Collector Builder makes counts what an agent sends
// it, on its own metrics page.
func TestDistributionCounts(t *testing.T) {
	c := startCollector(t, "exporters::agent_slo::birth_hold: 2s")
	start(t, nil, programs.agent, "-endpoint", "http://"+c.otlp, "-script", script).ends(t, time.Minute)
	eventually(t, time.Minute, func() error {
		page, err := get("http://" + c.metrics + "/metrics")
		if err != nil {
			return err
		}
		counted := published(page)
		for _, name := range slices.Sorted(maps.Keys(afterScript)) {
			if counted[name] != afterScript[name] {
				return errorf("%s: %+v, want %+v", name, counted[name], afterScript[name])
			}
		}
		return nil
	})
	c.process.stop(t, terminate, time.Minute)
}

// published reads agentslo_events_total from a metrics page.
func published(page string) map[string]events {
	counted := map[string]events{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "agentslo_events_total{") {
			continue
		}
		end := strings.LastIndex(line, "}")
		var value float64
		if _, err := fmt.Sscan(strings.Fields(line[end+1:])[0], &value); err != nil {
			continue
		}
		name, verdict := labelOf(line, "slo"), labelOf(line, "verdict")
		e := counted[name]
		switch verdict {
		case "good":
			e.Good += int(value)
		case "bad":
			e.Bad += int(value)
		case "unknown":
			e.Unknown += int(value)
		case "excluded":
			e.Excluded += int(value)
		}
		counted[name] = e
	}
	return counted
}

func labelOf(line, name string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, before+name+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

// Debian's Prometheus (2.42) loads the generated rules, evaluates every one of
// them, and its numbers are the exporter's.
func TestGeneratedRulesInPrometheus(t *testing.T) {
	prometheus, promtool := installed(t, "prometheus"), installed(t, "promtool")
	c := startCollector(t)
	folder := t.TempDir()
	rules := filepath.Join(folder, "rules")
	succeeds(t, programs.sloctl, "generate", "rules", "-f", file, "-o", rules)

	address := port(t)
	config := filepath.Join(folder, "prometheus.yml")
	write(t, config, fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: agentslo
    static_configs: [{targets: [%q]}]
`, rules+"/*rules*.yaml", c.metrics))
	succeeds(t, promtool, "check", "config", config)
	server := start(t, nil, prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address, "--storage.tsdb.retention.time=40d")
	api := prometheusAPI("http://" + address)
	eventually(t, time.Minute, func() error { _, err := get(string(api) + "/-/ready"); return err })

	// New series show 0 for a minute, so that the scraper sees the first failure rise.
	start(t, nil, programs.agent, "-endpoint", "http://"+c.otlp, "-script", script).ends(t, time.Minute)
	counts(t, file, string(api), afterScript, 3*time.Minute)

	eventually(t, time.Minute, func() error { return everyRuleIsHealthy(string(api)) })
	for _, recorded := range []string{"agentslo:objective:ratio", "agentslo:events:increase", "agentslo:error_ratio:", "agentslo:burn_rate:",
		"agentslo:evidence:", "agentslo:budget_remaining:ratio"} {
		eventually(t, time.Minute, func() error {
			series, err := api.query(fmt.Sprintf(`count({__name__=~"%s.*"})`, recorded))
			if err == nil && len(series) == 0 {
				err = errorf("no series %s", recorded)
			}
			return err
		})
	}
	// The recorded counts are the exporter's whole numbers, the first failure included.
	eventually(t, time.Minute, func() error {
		series, err := api.query("sum by (slo, verdict) (agentslo:events:increase30d)", "slo", "verdict")
		if err != nil {
			return err
		}
		for name, want := range afterScript {
			got := events{atoi(series[name+" good"]), atoi(series[name+" bad"]), atoi(series[name+" unknown"]), atoi(series[name+" excluded"])}
			if got.Good != want.Good || got.Bad != want.Bad {
				return errorf("recorded for %s: %+v, want %+v", name, got, want)
			}
		}
		return nil
	})
	failures, err := api.query(`sum(prometheus_rule_evaluation_failures_total)`)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range failures {
		if n != "0" {
			t.Errorf("%s rule evaluations failed", n)
		}
	}
	server.stop(t, terminate, time.Minute)
}

// atoi is the whole number that a series' value is, -1 for anything else.
func atoi(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return -1
	}
	return n
}

func everyRuleIsHealthy(api string) error {
	body, err := get(api + "/api/v1/rules")
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Name  string
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return err
	}
	rules := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			rules++
			if rule.Health != "ok" {
				return errorf("%s/%s: %s %s", group.Name, rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	if rules == 0 {
		return errorf("no rules are loaded")
	}
	return nil
}

// The rules' own tests hold in promtool 2.42, for every example file.
func TestGeneratedRuleTestsInPromtool(t *testing.T) {
	promtool := installed(t, "promtool")
	for _, example := range []string{file, "examples/support-agent/slo.yaml", "examples/rag-agent/slo.yaml", "examples/coding-agent/slo.yaml", "examples/operations-agent/slo.yaml"} {
		t.Run(filepath.Base(filepath.Dir(example)), func(t *testing.T) {
			folder := t.TempDir()
			succeeds(t, programs.sloctl, "generate", "rules", "-f", example, "-o", folder)
			succeeds(t, programs.sloctl, "generate", "tests", "-f", example, "-o", folder)
			files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
			if err != nil || len(files) < 2 {
				t.Fatalf("generated files: %v, %v", files, err)
			}
			for _, f := range files {
				if strings.HasSuffix(f, ".test.yaml") {
					succeeds(t, promtool, "test", "rules", f)
				} else {
					succeeds(t, promtool, "check", "rules", f)
				}
			}
		})
	}
}

// The example's Prometheus and Alertmanager configurations are valid with the
// rules that their README says to generate.
func TestExampleConfigurationsAreValid(t *testing.T) {
	promtool, amtool := installed(t, "promtool"), installed(t, "amtool")
	folder := t.TempDir()
	config, err := os.ReadFile(filepath.Join(root, "examples", "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "prometheus.yml"), string(config))
	succeeds(t, programs.sloctl, "generate", "rules", "-f", "examples/support-agent/slo.yaml", "-o", filepath.Join(folder, "rules"))
	out := succeeds(t, promtool, "check", "config", filepath.Join(folder, "prometheus.yml"))
	if !strings.Contains(out, "rules found") {
		t.Errorf("the configuration does not load the generated rules: %s", out)
	}
	succeeds(t, amtool, "check-config", "examples/prometheus/alertmanager.yml")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
