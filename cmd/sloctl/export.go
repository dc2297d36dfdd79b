package main

import (
	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/interchange"
)

const exportHeader = "# Made by sloctl export. Do not edit: change the SLO file and make it again.\n"

func newExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write SLO files as OpenSLO or Sloth specifications",
		Long: `Write SLO files as specifications of OpenSLO (openslo/v1) or Sloth (prometheus/v1).

SLOs about runs become ratios of the counters that the exporter publishes: how a
run is judged has no place in those formats. What is not carried is a warning,
what an SLO would not mean the same without an error; then nothing is written.

Exit code 0: carried, perhaps with warnings. 1: some SLO cannot be carried.
2: usage, or an invalid SLO file.`,
		Example: `  sloctl export --format openslo -f slo.yaml > openslo.yaml
  sloctl export --format sloth -f slos/ -o sloth/`,
		Args: cobra.NoArgs,
	}
	paths, to, how := fileFlag(c), destinationFlags(c), carryFlags(c)
	c.Flags().Lookup("output").Usage = "`folder` to write to; it is made if need be (default, and -: standard output)"
	kind := kindFlag(c, interchange.Formats, true, "`openslo` or sloth")
	c.RunE = func(c *cobra.Command, _ []string) error {
		as, err := kind()
		if err != nil {
			return err
		}
		set, err := load(*paths)
		if err != nil {
			return err
		}
		text, notices, err := interchange.Export(set, as)
		if err != nil {
			return err
		}
		return how.finish(c, notices, len(text) > 0, func() error {
			if to.folder == "-" {
				to.folder = ""
			}
			return to.write(c, made{string(as) + ".yaml", append([]byte(exportHeader), text...)})
		})
	}
	return c
}
