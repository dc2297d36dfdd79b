package slo

import (
	"strings"
	"unicode/utf8"
)

// nearest returns the known name that a misspelt one most likely means, or "".
// Case and the separators _, - and space do not count as differences.
func nearest(name string, known []string) string {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 64 {
		return ""
	}
	best, bestDistance := "", 1+max(1, utf8.RuneCountInString(name)/3)
	for _, k := range known {
		d := editDistance(foldName(name), foldName(k))
		if d == 0 {
			return k
		}
		if d < bestDistance && d < utf8.RuneCountInString(k) {
			best, bestDistance = k, d
		}
	}
	if best != "" || len(foldName(name)) < 4 {
		return best
	}
	// An abbreviation of exactly one known name.
	for _, k := range known {
		if strings.HasPrefix(foldName(k), foldName(name)) {
			if best != "" {
				return ""
			}
			best = k
		}
	}
	return best
}

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// editDistance is the optimal string alignment distance: insertions,
// deletions, substitutions and swaps of neighbours cost 1.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}

// didYouMean is the end of a message: "; did you mean x?" or "".
func didYouMean(name string, known []string) string {
	if n := nearest(name, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// oneOf is "a, b or c".
func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
