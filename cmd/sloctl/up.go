package main

import (
	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/standalone"
)

// newUpCommand makes the verb that runs the whole pipeline in this process.
func newUpCommand() *cobra.Command {
	var o standalone.Options
	c := &cobra.Command{
		Use:   "up",
		Short: "Run the whole pipeline in one process, with a page and a Prometheus API",
		Long: `Run the whole pipeline in one process: agents send OTLP here, each run becomes one
verdict per SLO, rules turn verdicts into budgets and alerts, and a page and a
Prometheus-compatible API show them. Everything that is kept is in the data
folder; a restart on the same folder goes on where it stopped.

Ctrl-C stops it cleanly: what was received is counted, and open runs wait in the
data folder. No authentication is asked for: keep the addresses on localhost, or
put a proxy before them.`,
		Example: `  sloctl up -f slo.yaml
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 python my_agent.py

  # what is left of the budgets, from another terminal
  sloctl budget -f slo.yaml --prometheus http://localhost:9500

  # alerts to an Alertmanager, bad runs as links into Jaeger
  sloctl up -f slo.yaml --alertmanager http://localhost:9093 \
    --trace-url 'http://localhost:16686/trace/{trace_id}'`,
		Args: cobra.NoArgs,
	}
	files := fileFlag(c)
	flags := c.Flags()
	flags.StringVar(&o.Listen, "listen", "localhost:9500", "address of the page and the Prometheus API")
	flags.StringVar(&o.OTLPGRPC, "otlp-grpc", "localhost:4317", "address of OTLP over gRPC")
	flags.StringVar(&o.OTLPHTTP, "otlp-http", "localhost:4318", "address of OTLP over HTTP")
	flags.StringVar(&o.Data, "data", "./agentslo-data", "folder of everything that is kept")
	flags.StringVar(&o.Alertmanager, "alertmanager", "", "base URL of an Alertmanager to send alerts to")
	flags.StringVar(&o.TraceURL, "trace-url", "", "URL of a trace in your viewer, with {trace_id}; the page links bad runs to it")
	flags.DurationVar(&o.ScrapeInterval, "scrape-interval", 0, "time between two collections of the counters (default 5s)")
	flags.DurationVar(&o.EvalInterval, "eval-interval", 0, "time between two evaluations of the rules (default 15s)")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "say more on stderr")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := load(*files); err != nil {
			return err
		}
		if o.Files = *files; len(o.Files) == 0 {
			o.Files = []string{defaultFile}
		}
		o.Log, o.Version = c.ErrOrStderr(), version()
		return standalone.Run(c.Context(), o)
	}
	return c
}
