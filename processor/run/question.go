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
	byTool memo[[]*slo.Question]
}

// foldedQuestions are the files' questions with names as arguments are
// compared to them.
func foldedQuestions(files *slo.Set) []slo.Question {
	all := files.Questions()
	for i := range all {
		names := slices.Clone(all[i].Names)
		for k := range names {
			names[k] = convention.FoldName(names[k])
		}
		all[i].Names = names
	}
	return all
}

// of are the questions to a tool's calls, each once.
func (a *asks) of(tool string) (list []*slo.Question) {
	for i := range a.all {
		q := &a.all[i]
		if q.Tool(tool) && !slices.ContainsFunc(list, func(p *slo.Question) bool { return p.ID == q.ID }) {
			list = append(list, q)
		}
	}
	return list
}

// find puts the questions to the call of f.
func (a *asks) find(f *convention.Facts) {
	if len(a.all) == 0 || !f.HasArgs {
		return
	}
	list := a.byTool.get(f.ToolName, a.of)
	if len(list) == 0 {
		return
	}
	arguments, ok := f.Arguments()
	if !ok {
		return
	}
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
		f.Findings = append(f.Findings, x)
	}
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
