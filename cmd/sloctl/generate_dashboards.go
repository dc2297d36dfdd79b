package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/dashboards"
)

func newGenerateDashboardsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "dashboards",
		Short: "Make Grafana dashboards: an overview and one for each service",
		Long: `Make Grafana dashboards: an overview of all budgets and one dashboard for each
service. They read the series that the generated rules record. Import them, or
let Grafana's provisioning read the folder.`,
		Example: `  sloctl generate dashboards -f slo.yaml -o dashboards/`,
		Args:    cobra.NoArgs,
	}
	paths, to := fileFlag(c), destinationFlags(c)
	c.Flags().Lookup("output").Usage = "`folder` to write to; it is made if need be"
	c.RunE = func(c *cobra.Command, _ []string) error {
		if to.folder == "" || to.folder == "-" {
			return errors.New("there are several files: name a folder for them with -o")
		}
		set, err := load(*paths)
		if err != nil {
			return err
		}
		files, err := makeDashboards(func(dir string) error { return dashboards.Write(dir, set) })
		if err != nil {
			return err
		}
		return to.write(c, files...)
	}
	return c
}

// makeDashboards lets them be written aside, so that only files that are
// allowed to be replaced are.
func makeDashboards(write func(dir string) error) ([]made, error) {
	dir, err := os.MkdirTemp("", "sloctl-dashboards-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := write(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []made
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, made{e.Name(), data})
	}
	return files, nil
}
