package main

import (
	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/slo"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of SLO files, for editors",
		Long: `Print the JSON Schema of SLO files. With the YAML language server, an editor
then completes and checks SLO files that begin with the line
  # yaml-language-server: $schema=agentslo.schema.json`,
		Example: "  sloctl schema > agentslo.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(slo.JSONSchema())
			return err
		},
	}
}
