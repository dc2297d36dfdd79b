package exporter

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/agentslo/agentslo/slo"
)

// Config configures agent_slo.
type Config struct {
	// ServerConfig is where /metrics is served, with TLS and authentication as
	// in every HTTP server of the Collector. Default endpoint localhost:9464;
	// an empty endpoint serves nothing.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`

	// Files are the SLO files, or folders of them. They say how many values of
	// each dimension are kept apart, and which label sets exist before the
	// first run. Without files nothing is known before it comes, and 20 values
	// of each dimension are kept.
	Files []string `mapstructure:"files"`

	// BirthHold is how long a new label set shows 0 at least, and until it was
	// collected, so that every scraper sees its first event as an increase. It
	// should be at least twice the scrape interval. 0 shows values at once.
	// Default 60s.
	BirthHold time.Duration `mapstructure:"birth_hold"`

	// Storage names a storage extension. With one, the counters are kept
	// across a clean restart; without, they start again at 0.
	Storage *component.ID `mapstructure:"storage"`

	// MaxLabelSets is how many label sets of each metric family are kept
	// apart; further ones are folded into __overflow__. Default 10000.
	MaxLabelSets int `mapstructure:"max_label_sets"`

	// MaxSeenSpans is how many span ids are remembered in order not to count
	// them again; at least the newest half of them is. Each takes about 20
	// bytes of memory. Default 1000000.
	MaxSeenSpans int `mapstructure:"max_seen_spans"`
}

// Validate checks the configuration and the SLO files it names.
func (c *Config) Validate() error {
	var errs error
	if c.BirthHold < 0 {
		errs = errors.Join(errs, fmt.Errorf("birth_hold: must not be negative, is %v", c.BirthHold))
	}
	if c.MaxLabelSets <= 0 {
		errs = errors.Join(errs, fmt.Errorf("max_label_sets: must be above 0, is %d", c.MaxLabelSets))
	}
	if c.MaxSeenSpans <= 0 {
		errs = errors.Join(errs, fmt.Errorf("max_seen_spans: must be above 0, is %d", c.MaxSeenSpans))
	}
	_, err := c.load()
	return errors.Join(errs, err)
}

func (c *Config) load() (*slo.Set, error) {
	if len(c.Files) == 0 {
		return &slo.Set{}, nil
	}
	set, err := slo.Load(c.Files...)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return set, nil
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = "localhost:9464"
	return &Config{ServerConfig: server, BirthHold: time.Minute, MaxLabelSets: 10_000, MaxSeenSpans: 1_000_000}
}
