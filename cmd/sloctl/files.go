package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/slo"
)

// defaultFile is read when no -f is given and it is there.
const defaultFile = "slo.yaml"

// fileFlag adds -f, which names SLO files and folders of them.
func fileFlag(c *cobra.Command) *[]string {
	paths := c.Flags().StringSliceP("file", "f", nil, "SLO file, or folder of SLO files; repeatable (default "+defaultFile+" where it exists)")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	return paths
}

// load reads the SLO files of -f. Faults come back as [slo.Faults].
func load(paths []string) (*slo.Set, error) {
	if len(paths) == 0 {
		if _, err := os.Stat(defaultFile); err != nil {
			return nil, errors.New("no SLO file: name it with -f FILE")
		}
		paths = []string{defaultFile}
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return nil, err // that there is no such file is no fault of the file
		}
	}
	return slo.Load(paths...)
}
