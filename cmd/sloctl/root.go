package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentslo/agentslo/slo"
)

// verbs are the commands, in the order in which help lists them. A verb is one
// file: its constructor goes here.
var verbs = []func() *cobra.Command{
	newDemoCommand,
	newUpCommand,
	newDeriveCommand,
	newValidateCommand,
	newExplainCommand,
	newBacktestCommand,
	newGenerateCommand,
	newBudgetCommand,
	newGateCommand,
	newImportCommand,
	newExportCommand,
	newSchemaCommand,
	newVersionCommand,
}

// Exit codes, the same for every verb.
const (
	exitOK           = 0
	exitFailed       = 1 // validate: the file has faults; gate: block; import and export: an SLO cannot be carried
	exitError        = 2 // usage or internal error, an invalid file included
	exitInsufficient = 3 // gate: not enough evidence
)

// exit ends a verb with a code of its own. A nil err prints nothing.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// orNil is nil for success.
func (e exit) orNil() error {
	if e.code == exitOK {
		return nil
	}
	return e
}

func newRootCommand() *cobra.Command {
	cobra.EnableCommandSorting = false // verbs stand in the order of a first day
	root := &cobra.Command{
		Use:   "sloctl",
		Short: "Error budgets for AI agents, from the spans they already emit",
		Long: `Error budgets for AI agents, from the spans they already emit.

An SLO file names what a good run of an agent is. Spans become one verdict per
run and SLO, verdicts become good and bad events, and each SLO has a budget.`,
		Example: `  sloctl validate -f slo.yaml
  sloctl generate rules -f slo.yaml -o rules/
  sloctl budget -f slo.yaml --prometheus http://localhost:9090
  sloctl gate -f slo.yaml --prometheus http://localhost:9090`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          group,
	}
	root.SetVersionTemplate("sloctl {{.Version}}\n")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return flagError(c, err) })
	for _, verb := range verbs {
		root.AddCommand(verb())
	}
	return root
}

// group runs a command that only holds others: help, or an unknown name.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	c.SuggestionsMinimumDistance = 2
	hint := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q%s", args[0], hint)
}

// flagError adds the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearestFlag(c, unknown.GetSpecifiedName()); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return err
}

func nearestFlag(c *cobra.Command, name string) (near string) {
	if len(name) < 3 {
		return ""
	}
	// cobra measures names of commands; a command named like each flag borrows that.
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if names := flags.SuggestionsFor(name); len(names) > 0 {
		return names[0]
	}
	return ""
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code = exitError
	var e exit
	if errors.As(err, &e) {
		code = e.code
	}
	var faults slo.Faults
	switch {
	case errors.As(err, &faults):
		fmt.Fprintln(stderr, faults)
	case err.Error() != "":
		fmt.Fprintf(stderr, "%s: %s\n", c.CommandPath(), strings.TrimSpace(err.Error()))
	}
	return code
}
