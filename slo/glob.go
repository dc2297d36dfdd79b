package slo

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MatchGlob says whether a glob of an SLO file matches the whole name. `*`
// stands for any run of characters, the empty one included, `?` for exactly
// one, and `\` makes the next character literal. Matching minds the case. It
// does not allocate and takes at most len(glob)·len(name) steps.
func MatchGlob(glob, name string) bool {
	g, n := 0, 0
	star, mark := -1, 0 // position after the last *, and of the name where its run ends
	for n < len(name) {
		if g < len(glob) {
			switch c := glob[g]; {
			case c == '*':
				g++
				star, mark = g, n
				continue
			case c == '?':
				_, size := utf8.DecodeRuneInString(name[n:])
				g++
				n += size
				continue
			case c == '\\' && g+1 < len(glob) && glob[g+1] == name[n]:
				g += 2
				n++
				continue
			case c != '\\' && c == name[n]:
				g++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		g, n = star, mark
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

func matchAny(globs []string, name string) bool {
	for _, g := range globs {
		if MatchGlob(g, name) {
			return true
		}
	}
	return false
}

const maxGlob = 255

// checkGlob refuses what other glob dialects mean something by, so that nobody
// is surprised by a literal [.
func checkGlob(glob string) error {
	if strings.TrimSpace(glob) == "" {
		return errors.New(`a glob must not be empty; "*" matches every name`)
	}
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '\\':
			if i++; i == len(glob) {
				return errors.New(`the glob ends in \, which makes the next character literal`)
			}
		case '[', ']', '{', '}':
			return fmt.Errorf(`%q is no part of a glob: only * and ? are special here; list several globs, or write \%c for the character itself`, c, c)
		}
	}
	if len(glob) > maxGlob {
		return fmt.Errorf("a glob has at most %d bytes", maxGlob)
	}
	if i := strings.IndexFunc(glob, unicode.IsControl); i >= 0 {
		return errors.New("the glob holds a control character")
	}
	return nil
}

// specificity orders globs: one without wildcards before any other, then the
// one with more literal characters.
type specificity struct {
	exact    bool
	literals int
}

func globSpecificity(glob string) specificity {
	s := specificity{exact: true}
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?':
			s.exact = false
		case '\\':
			i++
			s.literals++
		default:
			s.literals++
		}
	}
	return s
}

func (s specificity) compare(t specificity) int {
	if s.exact != t.exact {
		if s.exact {
			return 1
		}
		return -1
	}
	return s.literals - t.literals
}

// globsOverlap says whether some name matches both globs.
func globsOverlap(a, b string) bool {
	x, y := globTokens(a), globTokens(b)
	// Most globs differ before their first wildcard.
	for i := 0; i < min(len(x), len(y)) && !x[i].wild() && !y[i].wild(); i++ {
		if x[i].char != y[i].char {
			return false
		}
	}
	// reach[j] says whether x[:i] and y[:j] can match a common prefix.
	reach := make([]bool, len(y)+1)
	next := make([]bool, len(y)+1)
	reach[0] = true
	for j := 1; j <= len(y) && y[j-1].any; j++ {
		reach[j] = true
	}
	for i := 1; i <= len(x); i++ {
		next[0] = reach[0] && x[i-1].any
		for j := 1; j <= len(y); j++ {
			p, q := x[i-1], y[j-1]
			switch {
			case p.any || q.any:
				next[j] = reach[j] || next[j-1]
			default:
				next[j] = reach[j-1] && (p.one || q.one || p.char == q.char)
			}
		}
		reach, next = next, reach
	}
	return reach[len(y)]
}

type globToken struct {
	any, one bool
	char     rune
}

func (t globToken) wild() bool { return t.any || t.one }

func globTokens(glob string) []globToken {
	var tokens []globToken
	escaped := false
	for _, r := range glob {
		switch {
		case escaped:
			tokens = append(tokens, globToken{char: r})
			escaped = false
		case r == '\\':
			escaped = true
		case r == '*':
			tokens = append(tokens, globToken{any: true})
		case r == '?':
			tokens = append(tokens, globToken{one: true})
		default:
			tokens = append(tokens, globToken{char: r})
		}
	}
	return tokens
}
