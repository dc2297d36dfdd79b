package run

import (
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// asks are the questions of the files to the arguments of tool calls. They are
// put while the arguments are at hand; what is kept is their answers.
type asks struct {
	all    []slo.Question
	each   []*slo.Question // of all, every question once
	byTool memo[[]*slo.Question]
}

// init takes the files' questions, with names as arguments are compared to them.
func (a *asks) init(files *slo.Set) {
	a.all = files.Questions()
	for i := range a.all {
		names := slices.Clone(a.all[i].Names)
		for k := range names {
			names[k] = convention.FoldName(names[k])
		}
		a.all[i].Names = names
	}
	a.each = a.those(func(*slo.Question) bool { return true })
}

// of are the questions to a tool's calls.
func (a *asks) of(tool string) []*slo.Question {
	return a.those(func(q *slo.Question) bool { return q.Tool(tool) })
}

// those are the questions that are to be asked, each once.
func (a *asks) those(asked func(*slo.Question) bool) (list []*slo.Question) {
	for i := range a.all {
		q := &a.all[i]
		if asked(q) && !slices.ContainsFunc(list, func(p *slo.Question) bool { return p.ID == q.ID }) {
			list = append(list, q)
		}
	}
	return list
}

// find puts the questions to the call of f. A log record about the span of a call
// may not say of which tool it is: it is asked everything.
func (a *asks) find(f *convention.Facts) {
	if len(a.all) == 0 || !f.HasArgs {
		return
	}
	list := a.each
	if f.Kind != convention.Note {
		list = a.byTool.get(f.ToolName, a.of)
	}
	if len(list) == 0 {
		return
	}
	if arguments, ok := f.Arguments(); ok {
		f.Findings = answers(f.Findings, list, arguments)
	}
}

// findAsked puts the questions to calls that a model's reply asks for, where no
// span may show them.
func (a *asks) findAsked(f *convention.Facts) {
	if len(a.all) == 0 || !f.ByMessage {
		return
	}
	for i := range f.Asked {
		c := &f.Asked[i]
		if list := a.byTool.get(c.Name, a.of); len(list) > 0 {
			if arguments, ok := c.Arguments(); ok {
				c.Findings = answers(nil, list, arguments)
			}
		}
	}
}

// answers adds what the arguments say to the questions.
func answers(to []convention.Finding, list []*slo.Question, arguments convention.Arguments) []convention.Finding {
	for _, q := range list {
		x := convention.Finding{ID: q.ID}
		found := false
		switch q.Kind {
		case slo.AskField:
			found = arguments.Has(q.Names)
		case slo.AskPattern:
			found = arguments.Match(q.Pattern)
		case slo.AskKey:
			x.Hash, found = arguments.Hash(q.Names)
		}
		if !found && (!arguments.Whole() || q.Kind != slo.AskPattern && !arguments.Named()) {
			continue // it may stand in what was cut off, or without its name
		}
		if found {
			x.Hash |= 1
		}
		to = append(to, x)
	}
	return to
}

// Found is what the call's arguments say to a file's question: a hash of the
// value that was asked for, 0 when it is not there. It is not known where the
// arguments are not captured, not to their end, or were not asked.
func (t *ToolCall) Found(question uint32) (hash uint64, known bool) {
	for _, x := range t.Findings {
		if x.ID == question {
			return x.Hash, true
		}
	}
	return 0, false
}
