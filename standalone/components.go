package standalone

import (
	"github.com/prometheus/client_golang/prometheus"
	collectorexporter "go.opentelemetry.io/collector/exporter"
	collectorprocessor "go.opentelemetry.io/collector/processor"

	"github.com/agentslo/agentslo/exporter"
	"github.com/agentslo/agentslo/processor"
)

// The two components, the same as in the Collector distribution.

func newProcessor() collectorprocessor.Factory { return processor.NewFactory() }

func newExporter(take func(prometheus.Collector)) collectorexporter.Factory {
	return exporter.NewFactory(exporter.WithCollector(take))
}
