//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

const rulesSLO = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
slos:
  completion: {objective: 99%}
`

// TestRulesOnPrometheus loads generated rules into the installed server and
// lets it scrape a counter that fails, restarts and goes away; the server is
// restarted as well.
func TestRulesOnPrometheus(t *testing.T) {
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	var good, bad atomic.Int64
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for verdict, n := range map[string]int64{"good": good.Load(), "bad": bad.Load(), "unknown": 0, "excluded": 0} {
			fmt.Fprintf(w, "agentslo_events_total{slo_service=\"bot\",environment=\"prod\",agent=\"a\",slo=\"completion\",verdict=%q} %d\n", verdict, n)
		}
		fmt.Fprintln(w, "agentslo_unmatched_runs_total 0")
	}))
	defer exporter.Close()

	dir := t.TempDir()
	files, err := slo.Parse("slo.yaml", []byte(rulesSLO))
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, rules.Write(&text, &slo.Set{Files: files}, rules.FormatPrometheus))
	// A shorter interval is fine for the rules, and the test need not wait for minutes.
	content := strings.ReplaceAll(text.String(), "interval: 1m", "interval: 1s")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(content), 0o600))
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nrule_files: [rules.yaml]\nscrape_configs: [{job_name: agentslo, static_configs: [{targets: [%q]}]}]\n",
		strings.TrimPrefix(exporter.URL, "http://"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(config), 0o600))

	free := httptest.NewServer(nil)
	address := strings.TrimPrefix(free.URL, "http://")
	free.Close()
	serve := func() (stop func()) {
		server := exec.Command(binary, "--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+address)
		server.Dir = dir
		var log bytes.Buffer
		server.Stdout, server.Stderr = &log, &log
		require.NoError(t, server.Start())
		stopped := false
		stop = func() {
			if stopped {
				return
			}
			stopped = true
			require.NoError(t, server.Process.Signal(os.Interrupt))
			require.NoError(t, server.Wait())
			require.NotContains(t, log.String(), "Evaluating rule failed")
			require.NotContains(t, log.String(), "ingesting")
		}
		return stop
	}
	query := func(expr string) string {
		response, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return ""
		}
		defer response.Body.Close()
		var reply struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if json.NewDecoder(response.Body).Decode(&reply) != nil || len(reply.Data.Result) != 1 {
			return ""
		}
		return fmt.Sprint(reply.Data.Result[0].Value[1])
	}
	count := func(verdict string) string {
		return query(fmt.Sprintf(`agentslo:events:increase30d{slo_service="bot",environment="prod",slo="completion",verdict=%q}`, verdict))
	}
	becomes := func(want string, got func() string) {
		t.Helper()
		require.Eventually(t, func() bool { return got() == want }, time.Minute, 200*time.Millisecond, "want %s", want)
	}

	stop := serve()
	defer func() { stop() }()
	becomes("0", func() string { return count("bad") })
	becomes("4", func() string { return query(`count(agentslo:events:state{agentslo_part="seen"})`) })
	bad.Store(1)
	becomes("1", func() string { return count("bad") })
	bad.Store(20)
	good.Store(60)
	becomes("20", func() string { return count("bad") })
	becomes("60", func() string { return count("good") })
	becomes("1", func() string {
		return query(`ALERTS{alertname="AgentSLOBudgetBurn",tier="page_fast",alertstate="firing"}`)
	})

	good.Store(0) // the exporter restarts
	bad.Store(0)
	time.Sleep(5 * time.Second)
	bad.Store(2)
	becomes("22", func() string { return count("bad") })
	require.Equal(t, "60", count("good"))

	stop() // so does the server, and the exporter counts on meanwhile
	bad.Store(5)
	stop = serve()
	becomes("25", func() string { return count("bad") })
	require.Equal(t, "60", count("good"))
	// 1 − (25/85)/0.01; it is recorded after the counts, which may have been asked for in between.
	becomes("-28.411764705882355", func() string { return query("agentslo:budget_remaining:ratio") })
	require.Equal(t, "", query(`count({__name__=~"agentslo:.+"} != {__name__=~"agentslo:.+"})`))
}
