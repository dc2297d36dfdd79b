package slo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one mistake in an SLO file.
type Fault struct {
	Path    string // as given to [Load] or [Parse]
	Line    int    // from 1; 0 when the fault is the file as a whole
	Column  int    // from 1, in characters; 0 when the fault is the file as a whole
	Message string
}

// Error is "path:line:column: message".
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.Path + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.Path, f.Line, f.Column, f.Message)
}

// Faults is every mistake that was found in one pass, by file, line and
// column. It is never empty where it is returned as an error.
type Faults []Fault

// Error has one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As access to each fault.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// sorted orders faults by position, keeps the order of files, and drops
// repetitions: a faulty node that aliases share is one mistake.
func (fs Faults) sorted() Faults {
	files := map[string]int{}
	for _, f := range fs {
		if _, ok := files[f.Path]; !ok {
			files[f.Path] = len(files)
		}
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(files[a.Path], files[b.Path]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(fs)
}
