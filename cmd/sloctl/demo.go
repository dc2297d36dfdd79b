package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone"
	"github.com/agentslo/agentslo/standalone/demo"
)

func newDemoCommand() *cobra.Command {
	var once bool
	listen := "localhost:0"
	c := &cobra.Command{
		Use:   "demo",
		Short: "See it work: recorded agent runs, an incident, the alert it raises",
		Long: `See it work: recorded agent runs, an incident, the alert it raises.

The whole pipeline runs in this process, as with "sloctl up", on free ports and
in a folder of its own that is removed at the end. Recorded runs of a support
agent are sent to it over OTLP with fresh times. Then an incident happens: a
tool starts failing, answers go out without any tool, one agent loops.

It needs no file and no network, and stays up until Ctrl-C.`,
		Example: `  sloctl demo
  sloctl demo --once              # end by itself
  sloctl demo --listen :9500      # the page on a port of your choice`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&once, "once", false, "end after the incident instead of staying up")
	c.Flags().StringVar(&listen, "listen", listen, "address of the page and the Prometheus API")
	c.RunE = func(c *cobra.Command, _ []string) error {
		folder, err := os.MkdirTemp("", "agentslo-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "slo.yaml")
		if err := os.WriteFile(file, demo.SLOFile, 0o600); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(c.Context())
		defer stop()
		ready := make(chan standalone.Addresses, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- standalone.Run(ctx, standalone.Options{
				Files: []string{file}, Data: filepath.Join(folder, "data"),
				Listen: listen, OTLPGRPC: "localhost:0", OTLPHTTP: "localhost:0",
				ScrapeInterval: time.Second, EvalInterval: evaluations,
				Log: io.Discard, Version: version(), Ready: func(a standalone.Addresses) { ready <- a },
			})
		}()
		var at standalone.Addresses
		select {
		case at = <-ready:
		case err := <-ended:
			return err
		}
		set, err := slo.Load(file)
		if err != nil {
			return err
		}
		t := &tour{out: c.OutOrStdout(), err: c.ErrOrStderr(), set: set, at: at}
		err = t.run(ctx)
		if err == nil && !once {
			fmt.Fprintf(t.err, "\nThe page is at %s\nCtrl-C ends the demo.\n", at.Page)
			select {
			case <-ctx.Done():
			case err := <-ended:
				return err
			}
		}
		stop()
		if stopped := <-ended; err == nil {
			err = stopped
		}
		if errors.Is(err, context.Canceled) {
			err = nil // Ctrl-C
		}
		if err == nil {
			fmt.Fprintln(t.err, "The demo has ended; its folder is gone.")
		}
		return err
	}
	return c
}

// tour is the demo's way through one incident.
type tour struct {
	out, err io.Writer
	set      *slo.Set
	at       standalone.Addresses
}

// Times of the demo. The incident is long enough for the evidence of a page.
const (
	healthyTakes  = 12 * time.Second
	incidentTakes = 10 * time.Second
	countedWithin = 20 * time.Second
	alertWithin   = 60 * time.Second
	evaluations   = 2 * time.Second
)

func (t *tour) run(ctx context.Context) error {
	player, err := demo.NewPlayer(t.at.HTTP)
	if err != nil {
		return err
	}
	colours := terminal.Colours(t.out)
	heading := func(text string) { fmt.Fprintln(t.out, terminal.Paint(text, terminal.Bold, colours)) }

	fmt.Fprintf(t.err, "The page is at %s, OTLP at %s\n\n", t.at.Page, t.at.HTTP)
	heading(fmt.Sprintf("1. A good day: %d runs of a support agent, two of them with a wrong answer.", demo.Healthy.Runs()))
	if err := player.Play(ctx, demo.Healthy, healthyTakes); err != nil {
		return err
	}
	before, err := t.budgets(ctx, demo.Healthy.Runs())
	if err != nil {
		return err
	}
	if err := writeBudgets(t.out, before); err != nil {
		return err
	}

	fmt.Fprintln(t.out)
	heading(fmt.Sprintf("2. An incident: in %d runs a tool fails, answers go out without any tool, one agent loops.", demo.Incident.Runs()))
	if err := player.Play(ctx, demo.Incident, incidentTakes); err != nil {
		return err
	}
	after, err := t.budgets(ctx, demo.Healthy.Runs()+demo.Incident.Runs())
	if err != nil {
		return err
	}
	if err := writeBudgets(t.out, after); err != nil {
		return err
	}

	fmt.Fprintln(t.out)
	// The alerts' numbers are those of an evaluation after the last count.
	if err := pause(ctx, 3*evaluations); err != nil {
		return err
	}
	alerts, err := t.alerts(ctx)
	if err != nil {
		return err
	}
	heading("3. What fires:")
	for _, a := range alerts {
		fmt.Fprintln(t.out, "   "+a)
	}
	return nil
}

// budgets waits until all runs are counted. Every run has a verdict for
// completion, so that SLO counts them.
func (t *tour) budgets(ctx context.Context, runs int) ([]gate.Budget, error) {
	prometheus, err := gate.Dial(t.at.Page, nil)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(countedWithin)
	for {
		budgets, err := gate.Read(ctx, prometheus, t.set, gate.Options{})
		if err != nil {
			return nil, err
		}
		counted := true
		for _, b := range budgets {
			counted = counted && b.Good+b.Bad+b.Unknown+b.Excluded >= int64(runs)
		}
		if counted || time.Now().After(deadline) {
			return budgets, nil
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// alerts waits for the page and lists what fires, the loudest first.
func (t *tour) alerts(ctx context.Context) ([]string, error) {
	client, err := api.NewClient(api.Config{Address: t.at.Page})
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(alertWithin)
	for {
		result, err := promv1.NewAPI(client).Alerts(ctx)
		if err != nil {
			return nil, err
		}
		lines, paged := loudest(result.Alerts)
		if paged {
			return lines, nil
		}
		if time.Now().After(deadline) {
			return append(lines, fmt.Sprintf("no page within %s", alertWithin)), nil
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// loudest lists one line an SLO: its page if it has one, else its ticket, and
// of those the faster. The others say the same with less haste.
func loudest(alerts []promv1.Alert) (lines []string, paged bool) {
	best := map[model.LabelValue]promv1.Alert{}
	for _, a := range alerts {
		if a.State != promv1.AlertStateFiring {
			continue
		}
		paged = paged || string(a.Labels["severity"]) == string(slo.AlertPage)
		// page_fast, page_slow, ticket_fast, ticket_slow: the alphabet has their order.
		if old, ok := best[a.Labels["slo"]]; !ok || a.Labels["tier"] < old.Labels["tier"] {
			best[a.Labels["slo"]] = a
		}
	}
	for _, a := range best {
		lines = append(lines, fmt.Sprintf("%-6s  %s (%s)", a.Labels["severity"], a.Annotations["summary"], a.Labels["tier"]))
	}
	slices.Sort(lines)
	return lines, paged
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
