package interchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Notice is something that is not carried over, and why.
type Notice struct {
	Path         string // of the file
	Line, Column int    // from 1, in characters; 0 when it is the file as a whole
	Key          string // such as slos[2].sli.plugin; "" when it is the document as a whole
	Error        bool   // the SLO is left out; else it is carried without this
	Message      string
}

// String is "path:line:column: error: key: message", or warning.
func (n Notice) String() string {
	var b strings.Builder
	b.WriteString(n.Path)
	if n.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", n.Line, n.Column)
	}
	if n.Error {
		b.WriteString(": error: ")
	} else {
		b.WriteString(": warning: ")
	}
	if n.Key != "" {
		b.WriteString(n.Key + ": ")
	}
	b.WriteString(n.Message)
	return b.String()
}

// Notices is everything that one import or export does not carry over.
type Notices []Notice

// Errors is how many of the notices are errors.
func (ns Notices) Errors() int {
	n := 0
	for _, x := range ns {
		if x.Error {
			n++
		}
	}
	return n
}

// sorted orders notices by position, keeps the order of files, and drops
// repetitions: what several SLOs refer to is told once.
func (ns Notices) sorted() Notices {
	files := map[string]int{}
	for _, n := range ns {
		if _, ok := files[n.Path]; !ok {
			files[n.Path] = len(files)
		}
	}
	slices.SortStableFunc(ns, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(files[a.Path], files[b.Path]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ns)
}
