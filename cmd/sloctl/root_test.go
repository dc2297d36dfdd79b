package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help is a promise: each example of each verb is a command line that is
// understood as it stands there.
func TestExamplesAreUnderstood(t *testing.T) {
	for _, c := range everyCommand(newRootCommand()) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no example or no short help", c.CommandPath())
		}
		joined := strings.ReplaceAll(c.Example, "\\\n", " ")
		seen := false
		for _, line := range commandLines(joined) {
			seen = true
			root := newRootCommand()
			found, rest, err := root.Find(words(line)[1:])
			if err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
				continue
			}
			if found == root {
				t.Errorf("%s: %q names no verb", c.CommandPath(), line)
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
			}
		}
		if !seen {
			t.Errorf("%s: no example runs sloctl", c.CommandPath())
		}
	}
}

func everyCommand(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, child := range c.Commands() {
		if child.Name() != "help" && child.Name() != "completion" {
			all = append(all, everyCommand(child)...)
		}
	}
	return all
}

var separators = regexp.MustCompile(`&&| #.*|[|>;]`)

// commandLines are the calls of sloctl within shell lines.
func commandLines(text string) (lines []string) {
	quoted := regexp.MustCompile(`'[^']*'|"[^"]*"`)
	for _, line := range strings.Split(text, "\n") {
		// What is quoted holds no separator.
		plain := quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.Map(maskSeparators, s) })
		for _, part := range separators.Split(plain, -1) {
			if part = strings.TrimSpace(part); strings.HasPrefix(part, "sloctl ") || part == "sloctl" {
				lines = append(lines, part)
			}
		}
	}
	return lines
}

func maskSeparators(r rune) rune {
	if strings.ContainsRune("|>;&", r) {
		return '_'
	}
	return r
}

// words splits as a shell does, as far as the examples need it.
func words(line string) (out []string) {
	for _, w := range regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`).FindAllString(line, -1) {
		out = append(out, strings.NewReplacer(`'`, "", `"`, "").Replace(w))
	}
	return out
}
