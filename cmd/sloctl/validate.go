package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/slo"
)

func newValidateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "validate [FILE…]",
		Short: "Check SLO files and print every fault with its position",
		Long: `Check SLO files and print every fault as file:line:column: message, all in one
pass. Files of one call are checked together: two of them may not claim the same
SLO or the same runs.

Exit code 0: valid. 1: faults. 2: a file cannot be read.`,
		Example: `  sloctl validate -f slo.yaml
  sloctl validate -f slos/ -o json`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	paths, output := fileFlag(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := load(append(*paths, args...))
		var faults slo.Faults
		if err != nil && !errors.As(err, &faults) {
			return err
		}
		if *output != table {
			if err := encode(c.OutOrStdout(), *output, newValidation(set, faults)); err != nil {
				return err
			}
			if len(faults) > 0 {
				return exit{code: exitFailed}
			}
			return nil
		}
		if len(faults) > 0 {
			fmt.Fprintln(c.OutOrStdout(), faults)
			fmt.Fprintln(c.ErrOrStderr(), plural(len(faults), "fault"))
			return exit{code: exitFailed}
		}
		for _, f := range set.Files {
			name := f.Service
			if f.Environment != "" {
				name += " in " + f.Environment
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: ok: %s, %s over %s\n", f.Path, name, plural(len(f.SLOs), "SLO"), period(f.Window.Name))
		}
		return nil
	}
	return c
}

// validation is the output of validate -o json.
type validation struct {
	Valid  bool            `json:"valid"`
	Files  []validatedFile `json:"files"`
	Faults []fault         `json:"faults"`
}

type validatedFile struct {
	Path        string   `json:"path"`
	Service     string   `json:"service"`
	Environment string   `json:"environment"`
	SLOs        []string `json:"slos"`
}

type fault struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newValidation(set *slo.Set, faults slo.Faults) validation {
	v := validation{Valid: len(faults) == 0, Files: []validatedFile{}, Faults: []fault{}}
	for _, f := range faults {
		v.Faults = append(v.Faults, fault(f))
	}
	if !v.Valid {
		return v
	}
	for _, f := range set.Files {
		names := []string{}
		for i := range f.SLOs {
			names = append(names, f.SLOs[i].Name)
		}
		v.Files = append(v.Files, validatedFile{f.Path, f.Service, f.Environment, names})
	}
	return v
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
