package pipeline

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// Agents put whole conversations into spans: a batch may be far larger than
// the receiver's defaults of 4 MiB (gRPC) and 20 MiB (HTTP).
const maxRequestMiB = 64

type tree = map[string]any

// Config is the Collector configuration of a pipeline.
func Config(options Options) map[string]any {
	files := make([]any, len(options.Files))
	for i, f := range options.Files {
		files[i] = literal(f)
	}
	storage := "file_storage"
	return tree{
		"extensions": tree{storage: tree{
			"directory":        literal(options.Directory),
			"create_directory": true,
			// A damaged store is put aside: counting starts anew, and says so.
			"recreate": true,
			"fsync":    true,
		}},
		"receivers": tree{"otlp": tree{"protocols": tree{
			"grpc": tree{"endpoint": options.GRPC, "max_recv_msg_size_mib": maxRequestMiB},
			"http": tree{"endpoint": options.HTTP, "max_request_body_size": maxRequestMiB << 20},
		}}},
		"processors": tree{"agent_sli": tree{"files": files, "storage": storage}},
		"exporters": tree{
			"agent_slo": tree{
				"files": files, "storage": storage,
				"endpoint": "", // collected in process
				// The collection puts a zero sample before a newborn series.
				"birth_hold": "0s",
			},
			"nop": tree{},
		},
		"service": tree{
			"extensions": []any{storage},
			"pipelines": tree{
				"traces": tree{"receivers": []any{"otlp"}, "processors": []any{"agent_sli"}, "exporters": []any{"agent_slo"}},
				// Evaluations that come as log records.
				"logs": tree{"receivers": []any{"otlp"}, "processors": []any{"agent_sli"}, "exporters": []any{"nop"}},
				// Accepted and dropped: an SDK that sends all three signals to one
				// address would else fill the agent's log with errors.
				"metrics": tree{"receivers": []any{"otlp"}, "exporters": []any{"nop"}},
			},
		},
	}
}

// literal keeps a value from being read as a reference such as ${env:HOME}.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

const scheme = "memory"

// memory provides a configuration that was made in this process.
func memory(config map[string]any) confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider { return provider{config} })
}

type provider struct{ config map[string]any }

func (p provider) Retrieve(context.Context, string, confmap.WatcherFunc) (*confmap.Retrieved, error) {
	return confmap.NewRetrieved(p.config)
}

func (provider) Scheme() string                 { return scheme }
func (provider) Shutdown(context.Context) error { return nil }
