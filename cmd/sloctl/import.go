package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/interchange"
	"github.com/agentslo/agentslo/slo"
)

func newImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Make SLO files from OpenSLO and Sloth specifications",
		Long: `Make SLO files from specifications of OpenSLO (openslo/v1) and Sloth
(prometheus/v1, and its Kubernetes object): ratios of Prometheus counters, so
that the services around the agents have the same budgets and alerts.

Nothing is lost silently. What an SLO would not mean the same without is an
error, and then nothing is written; what else is not carried is a warning. Both
are printed as file:line:column with the key. What refers to each other may
stand in several files; - is standard input.

Exit code 0: carried, perhaps with warnings. 1: some SLO cannot be carried.
2: a file cannot be read.`,
		Example: `  sloctl import sloth.yaml > slo.yaml
  sloctl import openslo/*.yaml -o slos/
  sloctl import sloth.yaml --partial -o slos/      # leave out what cannot be carried`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	to, how := destinationFlags(c), carryFlags(c)
	c.Flags().Lookup("output").Usage = "`folder` for a file a service; it is made if need be (default, and -: standard output)"
	var options interchange.ImportOptions
	c.Flags().StringVar(&options.Window, "window", "30d", "`window` of the error budget where a specification names none, as Sloth's do not")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := slo.ParseDuration(options.Window); err != nil {
			return fmt.Errorf("--window: %w", err)
		}
		sources, err := readSources(c.InOrStdin(), args)
		if err != nil {
			return err
		}
		files, notices := interchange.Import(sources, options)
		return how.finish(c, notices, len(files) > 0, func() error {
			if to.folder == "" || to.folder == "-" {
				for i, f := range files {
					if i > 0 {
						fmt.Fprintln(c.OutOrStdout(), "---")
					}
					if _, err := c.OutOrStdout().Write(f.Data); err != nil {
						return err
					}
				}
				return nil
			}
			all := make([]made, len(files))
			for i, f := range files {
				all[i] = made{f.Name, f.Data}
			}
			return to.write(c, all...)
		})
	}
	return c
}

// readSources reads files whole; - is standard input.
func readSources(stdin io.Reader, paths []string) ([]interchange.Source, error) {
	var sources []interchange.Source
	for _, path := range paths {
		s := interchange.Source{Path: path}
		in := stdin
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		} else {
			s.Path = "stdin"
		}
		var err error
		if s.Data, err = io.ReadAll(io.LimitReader(in, interchange.MaxSourceSize+1)); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// carrying is what becomes of an import or export that is not whole.
type carrying struct{ partial, strict bool }

func carryFlags(c *cobra.Command) *carrying {
	h := &carrying{}
	c.Flags().BoolVar(&h.partial, "partial", false, "write the SLOs that can be carried even if others cannot; the exit code is still 1")
	c.Flags().BoolVar(&h.strict, "strict", false, "treat warnings as errors")
	return h
}

// finish tells the notices, writes what may be written, and says how it went.
func (h *carrying) finish(c *cobra.Command, notices interchange.Notices, any bool, write func() error) error {
	for _, n := range notices {
		fmt.Fprintln(c.ErrOrStderr(), n)
	}
	errors := notices.Errors()
	warnings := len(notices) - errors
	if h.strict {
		errors, warnings = errors+warnings, 0
	}
	if any && (errors == 0 || h.partial) {
		if err := write(); err != nil {
			return err
		}
	}
	switch {
	case errors > 0 && any && !h.partial:
		return exit{exitFailed, fmt.Errorf("%s, so nothing is written (--partial writes the rest)", plural(errors, "error"))}
	case errors > 0:
		return exit{exitFailed, fmt.Errorf("%s", plural(errors, "error"))}
	case warnings > 0:
		fmt.Fprintln(c.ErrOrStderr(), plural(warnings, "warning"))
	}
	return nil
}
