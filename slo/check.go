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
	for _, f := range files {
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
	}
	faults = append(faults, checkTies(files)...)
	return append(faults, checkRuns(files)...)
}

func inEnvironment(f *File) string {
	if f.Environment == "" {
		return ""
	}
	return " in " + f.Environment
}

// maxGlobWork bounds the comparison of agent globs, in characters against
// characters; a thousand files with a glob of 20 each need half of it.
const maxGlobWork = 400_000_000

// checkTies finds runs that two files would describe equally closely. Only
// globs that are equally specific, in files with equally many conditions, can
// tie: they share a key.
func checkTies(files []*File) Faults {
	type claim struct {
		environment string
		conditions  int
		glob        specificity
		name        string // of a whole name, which ties with nothing but itself
	}
	type claimant struct {
		file *File
		glob string
	}
	var faults Faults
	claims := map[claim][]claimant{}
	work := 0
	for _, f := range files {
		if f.at.badAgents || f.at.badMatch || onlyRatios(f) {
			continue
		}
		tied := map[*File]bool{}
		own := map[claim][]claimant{}
		for _, glob := range f.Agents {
			key := claim{environment: f.Environment, conditions: len(f.Match), glob: globSpecificity(glob)}
			if key.glob.exact {
				key.name = glob
			}
			for _, other := range claims[key] {
				if work += len(other.glob) * len(glob); work > maxGlobWork {
					return append(faults, Fault{f.Path, f.at.agentsLine, f.at.agentsColumn, "there are too many agent globs to compare"})
				}
				if tied[other.file] || !canBothMatch(other.file, f) || !globsOverlap(other.glob, glob) {
					continue
				}
				tied[other.file] = true
				faults = append(faults, Fault{f.Path, f.at.agentsLine, f.at.agentsColumn, fmt.Sprintf(
					"the agents %q are described as closely by %s:%d:%d (%q): a run could belong to either file; name the agents closer (agents), or add environment or match (service is only a label)",
					glob, other.file.Path, other.file.at.agentsLine, other.file.at.agentsColumn, other.glob)})
			}
			own[key] = append(own[key], claimant{f, glob})
		}
		for key, more := range own {
			claims[key] = append(claims[key], more...)
		}
	}
	return faults
}

// onlyRatios says whether a file is about no run; one whose SLOs could not be
// read may be.
func onlyRatios(f *File) bool { return len(f.SLOs) > 0 && !f.CountsRuns() }

// canBothMatch says whether one run can have all attributes that both files ask for.
func canBothMatch(a, b *File) bool {
	for name, value := range a.Match {
		if other, ok := b.Match[name]; ok && other != value {
			return false
		}
	}
	return true
}

// checkRuns finds files that would cut runs differently: one component has one
// way to do it.
func checkRuns(files []*File) Faults {
	var faults Faults
	var first *File
	for _, f := range files {
		if f.at.badRuns || onlyRatios(f) {
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
