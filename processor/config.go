package processor

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"

	"github.com/agentslo/agentslo/slo"
)

// Config configures agent_sli.
type Config struct {
	// Files are the SLO files, or folders of them, that say which runs matter
	// and what good is. Required.
	Files []string `mapstructure:"files"`
	// MemoryLimitMiB bounds what open and recently finished runs hold. Past it
	// the runs that are due first are released early, with completion
	// "evicted". Default 256.
	MemoryLimitMiB int `mapstructure:"memory_limit_mib"`
	// Storage names a storage extension. With one, open and waiting runs are
	// kept across a clean restart; without, they are released at shutdown.
	Storage *component.ID `mapstructure:"storage"`

	// set, when not nil, is used instead of Files.
	set *slo.Set
}

// Validate checks the configuration and the SLO files it names.
func (c *Config) Validate() error {
	if c.set == nil && len(c.Files) == 0 {
		return errors.New("files: name at least one SLO file, such as [slo.yaml]")
	}
	if c.MemoryLimitMiB <= 0 {
		return fmt.Errorf("memory_limit_mib: must be above 0, is %d", c.MemoryLimitMiB)
	}
	_, err := c.load()
	return err
}

func (c *Config) load() (*slo.Set, error) {
	if c.set != nil {
		return c.set, nil
	}
	set, err := slo.Load(c.Files...)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return set, nil
}

func createDefaultConfig() component.Config {
	return &Config{MemoryLimitMiB: 256}
}
