package convention

import (
	"math/bits"
	"strings"
)

// JSON of telemetry is read in place: without allocation, without building
// values, tolerant of what is cut off. Raw values are substrings of the
// document; "" stands for a missing one.

// maxScan bounds how much of one JSON text is read for a fact, in bytes. What
// lies behind it counts as not captured.
const maxScan = 256 << 10

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

const (
	eachByte  = 0x0101010101010101
	highBits  = 0x8080808080808080
	quotes    = '"' * eachByte
	backslash = '\\' * eachByte
)

// scanString is the index behind the string that begins at s[i] == '"', or -1,
// and whether it has an escape in it. It looks at eight bytes at a time.
func scanString(s string, i int) (end int, escaped bool) {
	for i++; i+8 <= len(s); {
		w := load64(s, i)
		q, b := w^quotes, w^backslash
		// The high bit of each byte that was zero; above the first one others may
		// be set too.
		hit := ((q-eachByte)&^q | (b-eachByte)&^b) & highBits
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) / 8
		if s[i] == '"' {
			return i + 1, escaped
		}
		escaped = true
		i += 2
	}
	for i < len(s) {
		switch s[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
		i++
	}
	return -1, escaped
}

func skipString(s string, i int) int {
	end, _ := scanString(s, i)
	return end
}

// structural marks the bytes that matter while a composite value is skipped.
var structural = [256]uint8{'"': 1, '{': 2, '[': 2, '}': 3, ']': 3}

// skipValue is the index behind the value that begins at s[i], or -1 if it does
// not end. It does not check what is inside.
func skipValue(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch structural[s[i]] {
			case 1:
				if i = skipString(s, i); i < 0 {
					return -1
				}
				continue
			case 2:
				depth++
			case 3:
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	default:
		start := i
		for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] > ' ' {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
}

// members walks over an object's members.
type members struct {
	s          string
	i          int
	key, value string // raw, the key without quotes
}

// membersOf walks over the object in raw; over nothing if it is none.
func membersOf(raw string) members {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return members{}
	}
	return members{s: raw, i: i + 1}
}

func (m *members) next() bool {
	s := m.s
	i := skipSpace(s, m.i)
	if i < len(s) && s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	if i >= len(s) || s[i] != '"' {
		return false
	}
	end := skipString(s, i)
	if end < 0 {
		return false
	}
	m.key = s[i+1 : end-1]
	i = skipSpace(s, end)
	if i >= len(s) || s[i] != ':' {
		return false
	}
	i = skipSpace(s, i+1)
	if end = skipValue(s, i); end < 0 {
		return false
	}
	m.value, m.i = s[i:end], end
	return true
}

// elements walks over an array's elements.
type elements struct {
	s     string
	i     int
	value string // raw
}

func elementsOf(raw string) elements {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return elements{}
	}
	return elements{s: raw, i: i + 1}
}

func (e *elements) next() bool {
	s := e.s
	i := skipSpace(s, e.i)
	if i < len(s) && s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	if i >= len(s) || s[i] == ']' {
		return false
	}
	end := skipValue(s, i)
	if end < 0 {
		return false
	}
	e.value, e.i = s[i:end], end
	return true
}

// member is the raw value of a key of the object in raw, or "".
func member(raw, key string) string {
	if len(raw) > maxScan {
		raw = raw[:maxScan]
	}
	m := membersOf(raw)
	for m.next() {
		if m.key == key {
			return m.value
		}
	}
	return ""
}

// text is the content of a raw JSON string with its escapes as they are, or raw
// itself if it is none. It serves for words, not for prose.
func text(raw string) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' {
		return raw[1 : n-1]
	}
	return raw
}

// blank says whether s has nothing but space.
func blank(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] > ' ' {
			return false
		}
	}
	return true
}

// trim takes JSON's white space off both ends.
func trim(s string) string {
	s = s[skipSpace(s, 0):]
	for n := len(s); n > 0 && (s[n-1] == ' ' || s[n-1] == '\n' || s[n-1] == '\t' || s[n-1] == '\r'); n-- {
		s = s[:n-1]
	}
	return s
}

// hollow says whether a raw JSON value holds nothing: null, a blank string, an
// empty object or array.
func hollow(raw string) bool {
	raw = trim(raw)
	switch {
	case raw == "", raw == "null", raw == "None":
		return true
	case raw[0] == '"':
		if len(raw) < 2 || raw[len(raw)-1] != '"' {
			return false
		}
		switch inner := strings.TrimSpace(raw[1 : len(raw)-1]); inner {
		case "", "{}", "[]", "null", `\"\"`:
			return true
		}
		return false
	case raw[0] == '{' && raw[len(raw)-1] == '}', raw[0] == '[' && raw[len(raw)-1] == ']':
		return blank(raw[1 : len(raw)-1])
	}
	return false
}

// length is the number of elements of the array in raw; -1 if it is none.
func length(raw string) int64 {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return -1
	}
	n := int64(0)
	for e := elementsOf(raw); e.next(); {
		n++
	}
	return n
}

// documentsIn counts the documents of a retrieval's output: an array, or an
// object that holds one under a usual name. [Unknown] for another form.
func documentsIn(out string) int64 {
	if len(out) > maxScan {
		return Unknown
	}
	if n := length(out); n >= 0 {
		return n
	}
	for m := membersOf(out); m.next(); {
		switch m.key {
		case "documents", "docs", "results", "matches", "hits", "output", "nodes", "chunks", "items":
			if n := length(m.value); n >= 0 {
				return n
			}
		}
	}
	if hollow(out) {
		return 0
	}
	return Unknown
}

// toolsIn says whether a request in JSON offers tools: 0 not said, 1 none, 2
// some. A quote inside a JSON string has a backslash before it, so that the
// pattern cannot stand in what a person wrote.
func toolsIn(request string) uint8 {
	if len(request) > maxScan {
		request = request[:maxScan]
	}
	none := uint8(0)
	for {
		i := strings.Index(request, `ools":`)
		if i < 0 {
			return none
		}
		named := i > 0 && (request[i-1] == 't' || request[i-1] == 'T')
		request = request[i+len(`ools":`):]
		if !named {
			continue
		}
		j := skipSpace(request, 0)
		if j < len(request) && request[j] == '[' {
			if k := skipSpace(request, j+1); k < len(request) && request[k] != ']' {
				return 2
			}
			none = 1
		}
	}
}
