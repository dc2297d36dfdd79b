// Package terminal writes tables and words for people: aligned columns, and
// colour where a terminal wants it. It knows nothing of SLOs.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Colour is an SGR parameter.
type Colour string

const (
	Plain  Colour = ""
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Bold   Colour = "1"
	Dim    Colour = "2"
)

// Colours says whether w wants colour: a terminal, and neither NO_COLOR is set
// (https://no-color.org) nor TERM is dumb.
func Colours(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Cell is the text of one place in a table.
type Cell struct {
	Text   string
	Colour Colour
}

// Table is a table with a header. Columns named in Right are aligned to the right.
type Table struct {
	Header []string
	Right  map[int]bool
	Rows   [][]Cell
}

// Write writes the table without trailing blanks. Cells hold one line of text.
func (t Table) Write(w io.Writer, colours bool) error {
	widths := make([]int, len(t.Header))
	header := make([]Cell, len(t.Header))
	for i, h := range t.Header {
		header[i] = Cell{h, Bold}
	}
	rows := append([][]Cell{header}, t.Rows...)
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		pending := 0
		for i, c := range row {
			pad := widths[i] - utf8.RuneCountInString(c.Text)
			if t.Right[i] {
				pending += pad
				pad = 0
			}
			if c.Text != "" {
				line.WriteString(strings.Repeat(" ", pending))
				line.WriteString(Paint(c.Text, c.Colour, colours))
				pending = 0
			}
			pending += pad + 2
		}
		out.WriteString(line.String() + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Paint colours a text.
func Paint(text string, colour Colour, colours bool) string {
	if !colours || colour == Plain || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", colour, text)
}
