package standalone

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// counters gathers the collector that agent_slo hands over, which comes only
// once the Collector starts and changes if it reloads.
type counters struct {
	mu       sync.RWMutex
	registry *prometheus.Registry
	err      error
}

func (c *counters) set(collector prometheus.Collector) {
	registry := prometheus.NewRegistry()
	err := registry.Register(collector)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registry, c.err = registry, err
}

// Gather implements prometheus.Gatherer.
func (c *counters) Gather() ([]*dto.MetricFamily, error) {
	c.mu.RLock()
	registry, err := c.registry, c.err
	c.mu.RUnlock()
	if registry == nil || err != nil {
		return nil, err
	}
	return registry.Gather()
}
