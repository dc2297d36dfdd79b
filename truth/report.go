package truth

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Finding is one derived fact that is not simply right.
type Finding struct {
	Recording, Fact, Got, Want, Why string
	Run                             int // from 1; 0 for the recording as a whole
	Grade                           Grade
}

// Tally counts grades.
type Tally [5]int

// Total is the number of facts.
func (t Tally) Total() int { return t[Right] + t[RightUnknown] + t[Less] + t[Unexplained] + t[Wrong] }

// Agreement is the share of facts that agree with the truth, 0 to 1; 1 without facts.
func (t Tally) Agreement() float64 {
	if t.Total() == 0 {
		return 1
	}
	return float64(t[Right]+t[RightUnknown]) / float64(t.Total())
}

// Report collects how recordings were read.
type Report struct {
	Findings []Finding
	byFact   map[string]*Tally
	byGroup  map[string]*Tally
	groups   []string // in order of appearance
	required Tally
}

// Required is the tally over the emitters whose convention must be read.
func (r *Report) Required() Tally { return r.required }

// Add compares what was read from a recording with what should be.
func (r *Report) Add(x *Expected, runs []Derived) {
	group := x.Framework
	if group == "" {
		group = "public/" + x.Name
	}
	count := func(f *Fact, run int, got string) {
		grade, why := f.Judge(got)
		r.count(group, f.Name, grade, x.Unread == "")
		if grade != Right {
			r.Findings = append(r.Findings, Finding{x.Name, f.Name, got, f.Wanted(), why, run, grade})
		}
	}
	total := Fact{Name: "runs", Want: strconv.Itoa(len(x.Runs))}
	if x.Unread != "" && len(runs) == 0 {
		total.Accept = []Accept{{Value: "0", Why: x.Unread}}
	}
	count(&total, 0, strconv.Itoa(len(runs)))
	for i := range min(len(runs), len(x.Runs)) {
		for f := range x.Runs[i].Facts {
			fact := &x.Runs[i].Facts[f]
			count(fact, i+1, runs[i].Fact(fact.Name))
		}
	}
}

func (r *Report) count(group, fact string, grade Grade, required bool) {
	if r.byFact == nil {
		r.byFact, r.byGroup = map[string]*Tally{}, map[string]*Tally{}
	}
	if r.byGroup[group] == nil {
		r.byGroup[group] = new(Tally)
		r.groups = append(r.groups, group)
	}
	r.byGroup[group][grade]++
	if required {
		if r.byFact[fact] == nil {
			r.byFact[fact] = new(Tally)
		}
		r.byFact[fact][grade]++
		r.required[grade]++
	}
}

// Write prints the tallies by fact and by emitter, and every finding that is
// less than the truth or against it, with its recording.
func (r *Report) Write(w io.Writer) {
	table := func(title string, names []string, of map[string]*Tally) {
		fmt.Fprintf(w, "\n%-34s %7s %11s %6s %8s %6s %7s\n", title, "right", "as unknown", "less", "unknown", "WRONG", "agree")
		for _, name := range names {
			line(w, name, *of[name])
		}
	}
	table("by fact", factNames(r.byFact), r.byFact)
	line(w, "conventions that must be read", r.required)
	table("by emitter", r.groups, r.byGroup)

	for _, grade := range []Grade{Wrong, Unexplained, Less, RightUnknown} {
		lines := map[string][]string{}
		for _, f := range r.Findings {
			if f.Grade != grade {
				continue
			}
			where := f.Recording
			if f.Run > 1 {
				where += fmt.Sprintf(" run %d", f.Run)
			}
			key := fmt.Sprintf("%s: got %s, truth %s", f.Fact, f.Got, f.Want)
			if f.Why != "" {
				key = f.Fact + ": " + f.Why
			}
			lines[key] = append(lines[key], where)
		}
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", grade)
		var keys []string
		for key := range lines {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			fmt.Fprintf(w, "  %s\n      %s\n", key, strings.Join(lines[key], ", "))
		}
	}
}

func line(w io.Writer, name string, t Tally) {
	fmt.Fprintf(w, "%-34s %7d %11d %6d %8d %6d %6.1f%%\n", name, t[Right], t[RightUnknown], t[Less], t[Unexplained], t[Wrong], 100*t.Agreement())
}

func factNames(of map[string]*Tally) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	return names
}
