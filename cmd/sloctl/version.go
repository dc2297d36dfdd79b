package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker of a release: -ldflags "-X main.release=v0.1.0".
var release string

// version is the release, or what the Go toolchain recorded about the build.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v += "-" + s.Value[:12]
			}
		}
	}
	return v
}

func newVersionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sloctl version -o json",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *output == table {
			_, err := fmt.Fprintf(c.OutOrStdout(), "sloctl %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		}
		return encode(c.OutOrStdout(), *output, map[string]string{
			"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	return c
}
