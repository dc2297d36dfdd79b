package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

func newGenerateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make rules, their tests, dashboards and configuration from SLO files",
		Example: `  sloctl generate rules -f slo.yaml -o rules/
  sloctl generate tests -f slo.yaml -o rules/ && promtool test rules rules/agentslo.test.yaml
  sloctl generate dashboards -f slo.yaml -o dashboards/
  sloctl generate collector -f slo.yaml > collector.yaml
  sloctl generate alertmanager -f slo.yaml -o alertmanager/`,
		Args: cobra.ArbitraryArgs,
		RunE: group,
	}
	for _, kind := range []func() *cobra.Command{
		newGenerateRulesCommand,
		newGenerateTestsCommand,
		newGenerateDashboardsCommand,
		newGenerateCollectorCommand,
		newGenerateAlertmanagerCommand,
	} {
		c.AddCommand(kind())
	}
	return c
}

// destination is where generated files go: a folder, or standard output.
type destination struct {
	folder string
	force  bool
	// toFill says that people go on in the files: once they have, only force
	// replaces them.
	toFill bool
}

func destinationFlags(c *cobra.Command) *destination {
	d := &destination{}
	c.Flags().StringVarP(&d.folder, "output", "o", "", "`folder` to write to; it is made if need be (default, and -: standard output)")
	c.Flags().BoolVar(&d.force, "force", false, "also replace files that sloctl did not make")
	_ = c.MarkFlagDirname("output")
	return d
}

// made is one generated file.
type made struct {
	name string // within the folder
	data []byte
}

// write writes the files, or, without a folder, the only one to standard
// output. It replaces nothing that sloctl did not make, unless forced to, and
// then replaces all files or none of them it can help.
func (d *destination) write(c *cobra.Command, files ...made) error {
	if d.folder == "" || d.folder == "-" {
		if len(files) != 1 {
			return errors.New("there are several files: name a folder for them with -o")
		}
		_, err := c.OutOrStdout().Write(files[0].data)
		return err
	}
	if at, err := os.Stat(d.folder); err == nil && !at.IsDir() {
		return fmt.Errorf("-o %s is a file; it must be a folder", d.folder)
	}
	if err := os.MkdirAll(d.folder, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(d.folder, f.name)
		switch old, err := os.ReadFile(path); {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case d.force || bytes.Equal(old, f.data):
		case d.toFill:
			return fmt.Errorf("%s exists and may hold what you filled in; --force replaces it", path)
		case !ours(old):
			return fmt.Errorf("%s exists and was not made by sloctl; --force replaces it", path)
		}
	}
	for _, f := range files {
		path := filepath.Join(d.folder, f.name)
		if err := replace(path, f.data); err != nil {
			return err
		}
		fmt.Fprintln(c.ErrOrStderr(), "wrote", path)
	}
	return nil
}

// ours says whether sloctl made a file: it says so in its first lines, or is a
// dashboard with our tag.
func ours(data []byte) bool {
	if len(data) == 0 || bytes.Contains(data[:min(len(data), 512)], []byte("Made by sloctl")) {
		return true
	}
	var dashboard struct {
		Tags []string `json:"tags"`
	}
	return json.Unmarshal(data, &dashboard) == nil && slices.Contains(dashboard.Tags, "agentslo")
}

// replace writes a file as a whole: a server that reads it meanwhile sees the
// old one or the new one.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
