package slo

import (
	"cmp"
	"slices"
)

// Set is the SLO files of one component. It is read-only and safe for
// concurrent use.
type Set struct{ Files []*File }

// Match gives the file that a run belongs to, or nil. The file's agents, its
// environment and its match must all fit; attribute tells a run's attribute
// and may be nil when there are none. The file's service is only a label and
// is not compared.
//
// Where several files fit, the most specific one has the run. Compared are, in
// this order: the agent glob that matches (a whole name before a glob, a glob
// with more literal characters before one with less), the number of match
// entries, and whether the file names an environment. [Load] refuses files
// between which this leaves a tie. A file whose SLOs are all ratios of other
// counters has no run.
func (s *Set) Match(service, environment, agent string, attribute func(name string) (string, bool)) *File {
	_ = service // part of a run's identity; the budget's service is the file's own
	var (
		best     *File
		bestRank rank
	)
	for _, f := range s.Files {
		if f.Environment != "" && f.Environment != environment || !f.CountsRuns() {
			continue
		}
		r, ok := f.rankOf(agent)
		if !ok || best != nil && r.compare(bestRank) <= 0 || !f.matches(attribute) {
			continue
		}
		best, bestRank = f, r
	}
	return best
}

func (f *File) matches(attribute func(string) (string, bool)) bool {
	for name, want := range f.Match {
		if attribute == nil {
			return false
		}
		if got, ok := attribute(name); !ok || got != want {
			return false
		}
	}
	return true
}

// rank is how closely a file describes a run.
type rank struct {
	glob       specificity
	conditions int // match entries
	named      bool
}

func (r rank) compare(s rank) int {
	if c := cmp.Or(r.glob.compare(s.glob), cmp.Compare(r.conditions, s.conditions)); c != 0 || r.named == s.named {
		return c
	}
	if r.named {
		return 1
	}
	return -1
}

func (f *File) rankOf(agent string) (rank, bool) {
	best, found := specificity{}, false
	label := f.AgentLabel(agent)
	for _, glob := range f.Agents {
		if !MatchGlob(glob, agent) && (label == agent || !MatchGlob(glob, label)) {
			continue
		}
		if s := globSpecificity(glob); !found || s.compare(best) > 0 {
			best, found = s, true
		}
	}
	return f.rankFor(best), found
}

func (f *File) rankFor(glob specificity) rank {
	return rank{glob, len(f.Match), f.Environment != ""}
}

// AgentLabel is the label of an agent: its name, or what the file's aliases
// make of it. A renamed agent is also matched by its label.
func (f *File) AgentLabel(agent string) string {
	if f != nil {
		if label, ok := f.Aliases[agent]; ok {
			return label
		}
	}
	return agent
}

// RetrievalTool says whether a file lists the tool as one of retrieval.
func (s *Set) RetrievalTool(name string) bool {
	return slices.ContainsFunc(s.Files, func(f *File) bool { return f.RetrievalTool(name) })
}

// Names says whether an SLO of any file has that kind.
func (s *Set) Names(kind string) bool {
	return slices.ContainsFunc(s.Files, func(f *File) bool {
		return slices.ContainsFunc(f.SLOs, func(o Objective) bool { return o.SLI == kind })
	})
}

// AttributeNames lists every attribute that the files need beside what the
// conventions read anyway: those of match, runs.key, dimensions and of
// expressions. Sorted, each once.
func (s *Set) AttributeNames() []string {
	names := []string{}
	for _, f := range s.Files {
		for name := range f.Match {
			names = append(names, name)
		}
		names = append(names, f.Runs.Key...)
		for _, d := range f.Dimensions {
			names = append(names, d.AttributeNames()...)
		}
		for i := range f.SLOs {
			if a := f.SLOs[i].Deadline.Attribute; a != "" {
				names = append(names, a)
			}
		}
		for _, p := range f.programs() {
			names = append(names, p.Attributes...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *File) programs() []*Program {
	var programs []*Program
	add := func(p *Program) {
		if p != nil {
			programs = append(programs, p)
		}
	}
	for _, x := range f.Exclude {
		add(x.When)
	}
	add(f.Tools.ExpectWhen)
	for _, m := range f.Outcomes {
		add(m.When)
	}
	for i := range f.SLOs {
		add(f.SLOs[i].When)
		add(f.SLOs[i].Good)
	}
	return programs
}

// Runs is what makes a run; all files of a set agree on it.
func (s *Set) Runs() Runs {
	for _, f := range s.Files {
		if f.CountsRuns() {
			return f.Runs
		}
	}
	return DefaultRuns()
}
