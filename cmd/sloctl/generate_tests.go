package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/rules"
)

// testsFile stands beside the rules. A server that loads a folder should load
// *.rules.yaml of it.
const testsFile = "agentslo.test.yaml"

func newGenerateTestsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tests",
		Short: "Make unit tests of the rules, for promtool",
		Long: `Make unit tests of the rules, for promtool: they fire in an outage, do not fire on
one failure, stop afterwards, and an idle agent keeps its budget.

With -o they go to ` + testsFile + ` in that folder, and test ` + rulesFile + `
beside it. A Prometheus server should load *.rules.yaml of that folder, not *.yaml.`,
		Example: `  sloctl generate rules -f slo.yaml -o rules/
  sloctl generate tests -f slo.yaml -o rules/
  promtool test rules rules/` + testsFile,
		Args: cobra.NoArgs,
	}
	paths, to := fileFlag(c), destinationFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := load(*paths)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := rules.Tests(&out, set, rulesFile); err != nil {
			return err
		}
		if err := to.write(c, made{testsFile, out.Bytes()}); err != nil || to.folder == "" {
			return err
		}
		if _, err := os.Stat(filepath.Join(to.folder, rulesFile)); err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "the rules they test are not there yet: sloctl generate rules … -o %s\n", to.folder)
		}
		return nil
	}
	return c
}
