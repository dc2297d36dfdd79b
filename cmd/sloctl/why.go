package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
)

// keeping also gives what is read to the explainer.
func keeping(sink recording.Sink, x *processor.Explainer) recording.Sink {
	return recording.Sink{
		Traces: func(td ptrace.Traces) { x.Traces(td); sink.Traces(td) },
		Logs:   func(ld plog.Logs) { x.Logs(ld); sink.Logs(ld) },
	}
}

// Of one fact people read a few sources; the rest is in JSON.
const (
	shownSources = 6
	shownValue   = 60 // runes
	shownFact    = 48 // runes of a fact's own value
)

// writeWhy writes where the facts of a run come from: a fact a row, with its
// sources below.
func writeWhy(w io.Writer, r *processor.Report, colours bool) error {
	if len(r.Why) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s trace %s\n", terminal.Paint("run "+r.Run, terminal.Bold, colours), r.TraceID); err != nil {
		return err
	}
	t := terminal.Table{Header: []string{"FACT", "VALUE", "WHERE IT COMES FROM"}}
	for i := range r.Why {
		f := &r.Why[i]
		lines := factLines(f)
		if len(lines) == 0 {
			lines = []terminal.Cell{{}}
		}
		for k, line := range lines {
			row := []terminal.Cell{{}, {}, line}
			if k == 0 {
				row[0].Text, row[1] = f.Name, factValue(f)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t.Write(w, colours)
}

func factValue(f *processor.WhyFact) terminal.Cell {
	if f.Value == nil {
		return terminal.Cell{Text: "–", Colour: terminal.Yellow}
	}
	text, ok := f.Value.(string)
	if !ok {
		data, err := json.Marshal(f.Value)
		if err != nil {
			return terminal.Cell{}
		}
		text = string(data)
	}
	verdict, _, _ := strings.Cut(text, " ")
	if strings.HasPrefix(f.Name, "slos.") {
		return terminal.Cell{Text: text, Colour: verdictColours[verdict]}
	}
	return terminal.Cell{Text: oneLine(text, shownFact)}
}

func factLines(f *processor.WhyFact) (lines []terminal.Cell) {
	add := func(colour terminal.Colour, format string, args ...any) {
		lines = append(lines, terminal.Cell{Text: fmt.Sprintf(format, args...), Colour: colour})
	}
	if f.How != "" {
		add(terminal.Plain, "%s", f.How)
	}
	before := ""
	for i := range f.From {
		if i == shownSources && len(f.From) > shownSources+1 {
			add(terminal.Dim, "… %d more (-o json has all)", len(f.From)-i)
			break
		}
		s := &f.From[i]
		span := spanText(s.Span, s.SpanID)
		if span == before {
			span = strings.Repeat(" ", len([]rune(span)))
		} else {
			before = span
		}
		said := s.Attribute
		if s.Says != "" {
			said += " = " + oneLine(s.Says, shownValue)
		}
		if s.Convention != "" {
			said += "  (" + s.Convention + ")"
		}
		if s.Role != "" {
			said += "  → " + s.Role
		}
		add(terminal.Plain, "%s", strings.TrimRight(span+"  "+said, " "))
	}
	before = ""
	for i := range f.Missing {
		m := &f.Missing[i]
		keys := strings.Join(m.LookedFor, ", ")
		if keys == "" {
			keys = "no attribute of " + m.Convention + " would say it"
		}
		what := "not on " + spanText(m.Span, m.SpanID)
		if i == shownSources && len(f.Missing) > shownSources+1 {
			add(terminal.Yellow, "… %d more", len(f.Missing)-i)
			break
		}
		switch {
		case len(m.Unused) > 0:
			for _, u := range m.Unused {
				add(terminal.Yellow, "%s: %s = %s  (%s)  → %s", strings.TrimPrefix(what, "not "), u.Attribute, oneLine(u.Says, shownValue), u.Convention, u.Role)
			}
		case keys == before:
			add(terminal.Yellow, "%s: the same", what)
		default:
			before = keys
			add(terminal.Yellow, "%s: %s  (%s)", what, keys, m.Convention)
		}
	}
	return lines
}

func spanText(name, id string) string {
	if id == "" {
		return ""
	}
	return strings.TrimSpace(oneLine(name, shownValue) + " [" + id + "]")
}

// oneLine is a text on one line, cut to what a terminal can show beside others.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
