package slo

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// expression compiles a CEL expression and places its faults in the YAML file.
func (r *reader) expression(n *yaml.Node, what string) *Program {
	n = r.resolve(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		r.fault(n, "%s is a CEL expression in quotes; this is %s", what, kindOf(n))
		return nil
	}
	source, ok := r.text(n, what)
	if !ok {
		return nil
	}
	program, err := Compile(source)
	if err == nil {
		return program
	}
	faults, ok := err.(Faults)
	if !ok {
		r.fault(n, "%s: %s", what, err)
		return nil
	}
	for _, f := range faults {
		line, column := r.place(n, f.Line, f.Column)
		r.faultAt(line, column, "%s: %s", what, f.Message)
	}
	return nil
}

// place finds where a line and column of a scalar's value, both from 1, stand
// in the file. The value is laid against the source text: quotes, escapes,
// indentation and folded line breaks stand only in the latter.
func (r *reader) place(n *yaml.Node, line, column int) (int, int) {
	want := runeOffset(n.Value, line, column)
	source := &cursor{rest: r.source, line: 1, column: 1}
	for source.line < n.Line || source.line == n.Line && source.column < n.Column {
		if !source.next() {
			return n.Line, n.Column
		}
	}
	double := n.Style&yaml.DoubleQuotedStyle != 0
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		for source.peek() != '\n' && source.next() {
		}
	case double, n.Style&yaml.SingleQuotedStyle != 0:
		// Tags and anchors may stand before the quote.
		for source.peek() != '"' && source.peek() != '\'' && source.next() {
		}
		source.next()
	}
	for i, c := range []rune(n.Value) {
		if double && source.peek() == '\\' {
			if i == want {
				break
			}
			source.escape()
			continue
		}
		// A folded line break is a space of the value.
		for !(source.peek() == c || c == ' ' && source.peek() == '\n') {
			if !source.next() {
				return n.Line, n.Column
			}
		}
		if i == want {
			break
		}
		if single := !double && c == '\'' && bytes.HasPrefix(source.rest, []byte("''")); single {
			source.next()
		}
		source.next()
	}
	return source.line, source.column
}

// runeOffset is the index of a line and column in the runes of a text.
func runeOffset(text string, line, column int) int {
	offset := 0
	for l, rest := 1, text; l < line; l++ {
		before, after, ok := strings.Cut(rest, "\n")
		if !ok {
			break
		}
		offset += utf8.RuneCountInString(before) + 1
		rest = after
	}
	return offset + column - 1
}

type cursor struct {
	rest         []byte
	line, column int
}

func (c *cursor) peek() rune {
	if len(c.rest) == 0 {
		return 0
	}
	char, _ := utf8.DecodeRune(c.rest)
	return char
}

func (c *cursor) next() bool {
	if len(c.rest) == 0 {
		return false
	}
	char, size := utf8.DecodeRune(c.rest)
	c.rest = c.rest[size:]
	if c.column++; char == '\n' {
		c.line, c.column = c.line+1, 1
	}
	return true
}

// escape passes an escape sequence of a double-quoted text.
func (c *cursor) escape() {
	c.next()
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c.peek()]
	for i := 0; i <= digits; i++ {
		c.next()
	}
}
