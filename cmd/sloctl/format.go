package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// format is the value of -o.
type format string

const (
	table  format = "table"
	asJSON format = "json"
	asYAML format = "yaml"
)

var formats = []string{string(table), string(asJSON), string(asYAML)}

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }
func (f *format) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("must be %s", strings.Join(formats, ", "))
	}
	*f = format(s)
	return nil
}

// outputFlag adds -o table|json|yaml.
func outputFlag(c *cobra.Command) *format {
	f := table
	c.Flags().VarP(&f, "output", "o", "output format: "+strings.Join(formats, ", "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// kindFlag adds --format with the kinds a verb writes; the first is the default
// unless it must be given. The function returned reads it, or says what it must be.
func kindFlag[K ~string](c *cobra.Command, kinds []K, required bool, usage string) func() (K, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	preset := names[0]
	if required {
		preset = ""
	}
	as := c.Flags().String("format", preset, usage)
	if required {
		_ = c.MarkFlagRequired("format")
	}
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return func() (K, error) {
		if !slices.Contains(names, *as) {
			return "", fmt.Errorf("--format %q: must be one of %v", *as, names)
		}
		return K(*as), nil
	}
}

// encode writes a value as JSON, or as the YAML of the same document: keys keep
// their order and numbers stay as exact as they are.
func encode(w io.Writer, f format, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if f == asYAML {
		var document yaml.Node
		if err := yaml.Unmarshal(data, &document); err != nil {
			return err
		}
		block(&document)
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		if err := encoder.Encode(&document); err != nil {
			return err
		}
		data = bytes.TrimRight(out.Bytes(), "\n")
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// block takes the JSON style from a document. Short lists of numbers keep it.
func block(n *yaml.Node) {
	scalars := true
	for _, child := range n.Content {
		block(child)
		scalars = scalars && child.Kind == yaml.ScalarNode && child.Tag != "!!str"
	}
	switch {
	case n.Kind == yaml.SequenceNode && scalars && len(n.Content) > 0:
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Style == yaml.DoubleQuotedStyle:
		n.Style = 0 // the encoder quotes what would read as something else
	default:
		n.Style = 0
	}
}
