package main

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/collector"
)

func newGenerateCollectorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "collector",
		Short: "Make the configuration of an OpenTelemetry Collector",
		Long: `Make the configuration of an OpenTelemetry Collector with the processor agent_sli
and the exporter agent_slo. It loads in the distribution that builder-config.yaml
describes. The SLO files are named in it as -f names them.

With -o it goes to collector.yaml in that folder.`,
		Example: `  sloctl generate collector -f slo.yaml > collector.yaml
  sloctl generate collector -f /etc/agentslo/slos --otlp-grpc 0.0.0.0:4317 --metrics 0.0.0.0:9464`,
		Args: cobra.NoArgs,
	}
	paths, to := fileFlag(c), destinationFlags(c)
	o := collector.Defaults()
	flags := c.Flags()
	flags.StringVar(&o.GRPC, "otlp-grpc", o.GRPC, "`address` for OTLP over gRPC")
	flags.StringVar(&o.HTTP, "otlp-http", o.HTTP, "`address` for OTLP over HTTP")
	flags.StringVar(&o.Metrics, "metrics", o.Metrics, "`address` of /metrics, which Prometheus scrapes")
	flags.StringVar(&o.Storage, "storage", o.Storage, "`folder` for the state between restarts")
	flags.IntVar(&o.MemoryLimitMiB, "memory-limit-mib", o.MemoryLimitMiB, "memory of the whole Collector, in `MiB`")
	flags.IntVar(&o.ProcessorMemoryMiB, "processor-memory-mib", o.ProcessorMemoryMiB, "memory of agent_sli's open runs, in `MiB`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := load(*paths); err != nil { // a Collector would refuse them too, but later
			return err
		}
		if o.MemoryLimitMiB < 4 || o.ProcessorMemoryMiB < 1 {
			return errors.New("--memory-limit-mib must be at least 4, --processor-memory-mib at least 1")
		}
		o.Files = *paths
		if len(o.Files) == 0 {
			o.Files = []string{defaultFile}
		}
		var out bytes.Buffer
		if err := collector.Write(&out, o); err != nil {
			return err
		}
		return to.write(c, made{"collector.yaml", out.Bytes()})
	}
	return c
}
