package slo

import (
	"fmt"
	"slices"
)

// checkSet finds what is wrong between files rather than within one. It takes
// faulty files too, and leaves out what is itself at fault.
func checkSet(files []*File) Faults {
	var faults Faults
	type identity struct{ service, environment, slo string }
	type place struct {
		file *File
		slo  *Objective
	}
	claimed := map[identity]place{}
	for i, f := range files {
		for j := range f.SLOs {
			o := &f.SLOs[j]
			if f.Service == "" {
				continue
			}
			id := identity{f.Service, f.Environment, o.Name}
			if first, ok := claimed[id]; ok {
				faults = append(faults, Fault{f.Path, o.Line, o.Col, fmt.Sprintf(
					"SLO %s of service %s%s is claimed already by %s:%d:%d; service, environment and name together identify a budget",
					o.Name, f.Service, inEnvironment(f), first.file.Path, first.slo.Line, first.slo.Col)})
				continue
			}
			claimed[id] = place{f, o}
		}
		for _, other := range files[:i] {
			faults = append(faults, checkTie(other, f)...)
		}
	}
	return append(faults, checkRuns(files)...)
}

func inEnvironment(f *File) string {
	if f.Environment == "" {
		return ""
	}
	return " in " + f.Environment
}

// checkTie finds a run that two files would describe equally closely.
func checkTie(a, b *File) Faults {
	if a.at.badAgents || b.at.badAgents || a.at.badMatch || b.at.badMatch {
		return nil
	}
	if len(a.Match) != len(b.Match) || (a.Environment != "") != (b.Environment != "") || a.Environment != b.Environment {
		return nil
	}
	for name, value := range a.Match {
		if other, ok := b.Match[name]; ok && other != value {
			return nil
		}
	}
	for _, glob := range b.Agents {
		i := slices.IndexFunc(a.Agents, func(other string) bool {
			return globSpecificity(other) == globSpecificity(glob) && globsOverlap(other, glob)
		})
		if i < 0 {
			continue
		}
		return Faults{{b.Path, b.at.agentsLine, b.at.agentsColumn, fmt.Sprintf(
			"the agents %q are described as closely by %s:%d:%d (%q): a run could belong to either file; name the agents closer (agents), or add environment or match (service is only a label)",
			glob, a.Path, a.at.agentsLine, a.at.agentsColumn, a.Agents[i])}}
	}
	return nil
}

// checkRuns finds files that would cut runs differently: one component has one
// way to do it.
func checkRuns(files []*File) Faults {
	var faults Faults
	var first *File
	for _, f := range files {
		if f.at.badRuns {
			continue
		}
		if first == nil {
			first = f
			continue
		}
		a, b := first.Runs, f.Runs
		if a.Root != b.Root || !slices.Equal(a.Key, b.Key) || a.QuietPeriod != b.QuietPeriod ||
			a.IdleTimeout != b.IdleTimeout || a.MaxAge != b.MaxAge || a.MaxSpans != b.MaxSpans {
			faults = append(faults, Fault{f.Path, f.at.runsLine, f.at.runsColumn, fmt.Sprintf(
				"runs differs from %s:%d:%d; it must be the same in all files of one component", first.Path, first.at.runsLine, first.at.runsColumn)})
		}
	}
	return faults
}
