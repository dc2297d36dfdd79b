package convention

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Two values hash alike if they are the same JSON value: the order of keys,
// white space, escapes and the form of numbers do not matter. A structured
// attribute hashes as the JSON text that says the same; text that is no JSON
// as itself. Ids of the single call, which some frameworks put into results,
// are left out.

const (
	seedObject = 0x9ae16a3b2f90404f
	seedArray  = 0xc3a5c85c97cb3127
	seedNull   = 0xb492b66fbe98f273
	seedTrue   = 0x9ddfea08eb382d69
	seedFalse  = 0xd6e8feb86659fd93
	seedNumber = 0xa0761d6478bd642f
	maxDepth   = 64 // below, raw text is hashed
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xe7037ed1a0b428db, b^0x8ebc6af09c88c6e3)
	return hi ^ lo
}

// callIDs are members of results and arguments that name the single call.
func volatileKey(key string) bool {
	switch key {
	case "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "call_id":
		return true
	}
	return false
}

// canonical is what the hashing of one captured value gives.
type canonical struct {
	hash  uint64
	empty bool
	error bool   // the value says itself, as its protocol has it, that the tool failed
	said  string // what it says of the failure
}

// canonicalText hashes a captured text.
func canonicalText(s string) canonical {
	t := strings.TrimSpace(s)
	if t == "" {
		return canonical{hash: hashText(""), empty: true}
	}
	if len(t) > maxScan {
		return canonical{hash: hashText(t)} // as it is: nobody reads so much twice
	}
	switch t[0] {
	case '{', '[', '"':
		if t[0] == '{' {
			if h, end := hashObject(t, 0, 0, true); end == len(t) {
				return canonical{hash: h}
			}
		}
		inner, failed := unwrap(t)
		said := ""
		if failed {
			said = failureText(inner)
		}
		if hollow(inner) {
			return canonical{hash: hashText(""), empty: true, error: failed}
		}
		if h, end := hashJSON(inner, 0, 0); end == len(inner) {
			return canonical{hash: h, error: failed, said: said}
		}
		return canonical{hash: hashText(strings.TrimSpace(inner)), error: failed, said: said}
	case 'c':
		// LangChain in Python prints a message: content='…' name='…' tool_call_id='…'.
		if strings.HasPrefix(t, "content=") {
			if i := strings.LastIndex(t, " tool_call_id="); i > 0 {
				t = t[:i]
			}
		}
	case 'n', 'N':
		if t == "null" || t == "None" {
			return canonical{hash: hashText(""), empty: true}
		}
	}
	return canonical{hash: hashText(t)}
}

// hashJSON hashes the value at s[i] and gives the index behind it and behind
// white space; -1 if it is no JSON.
func hashJSON(s string, i, depth int) (uint64, int) {
	i = skipSpace(s, i)
	if i >= len(s) {
		return 0, -1
	}
	if depth > maxDepth {
		end := skipValue(s, i)
		if end < 0 {
			return 0, -1
		}
		return xxhash.Sum64String(s[i:end]), skipSpace(s, end)
	}
	switch s[i] {
	case '{':
		return hashObject(s, i, depth, false)
	case '[':
		sum := uint64(seedArray)
		if i = skipSpace(s, i+1); i < len(s) && s[i] == ']' {
			return sum, skipSpace(s, i+1)
		}
		for {
			var h uint64
			if h, i = hashJSON(s, i, depth+1); i < 0 || i >= len(s) {
				return 0, -1
			}
			sum = mix(sum, h)
			if s[i] == ']' {
				return sum, skipSpace(s, i+1)
			}
			if s[i] != ',' {
				return 0, -1
			}
			i++
		}
	case '"':
		end, escaped := scanString(s, i)
		if end < 0 {
			return 0, -1
		}
		return hashString(s[i+1:end-1], escaped), skipSpace(s, end)
	}
	end := skipValue(s, i)
	if end < 0 {
		return 0, -1
	}
	h, ok := hashScalar(s[i:end])
	if !ok {
		return 0, -1
	}
	return h, skipSpace(s, end)
}

// hashObject is hashJSON for the object at s[i]. With plain it also gives up, with
// -1, on an empty object and on one with a member that may make it a
// framework's wrapping.
func hashObject(s string, i, depth int, plain bool) (uint64, int) {
	sum := uint64(seedObject)
	if i = skipSpace(s, i+1); i < len(s) && s[i] == '}' && !plain {
		return sum, skipSpace(s, i+1)
	}
	for {
		if i >= len(s) || s[i] != '"' {
			return 0, -1
		}
		end, escaped := scanString(s, i)
		if end < 0 {
			return 0, -1
		}
		raw := s[i+1 : end-1]
		if i = skipSpace(s, end); i >= len(s) || s[i] != ':' || plain && wraps(raw) {
			return 0, -1
		}
		var h uint64
		if h, i = hashJSON(s, i+1, depth+1); i < 0 || i >= len(s) {
			return 0, -1
		}
		if !volatileKey(raw) {
			sum += mix(hashString(raw, escaped), h) // a sum: the order does not matter
		}
		if s[i] == '}' {
			return sum, skipSpace(s, i+1)
		}
		if s[i] != ',' {
			return 0, -1
		}
		i = skipSpace(s, i+1)
	}
}

// hashString hashes what a JSON string without its quotes stands for.
func hashString(raw string, escaped bool) uint64 {
	if escaped {
		return hashEscaped(raw)
	}
	return hashText(raw)
}

// hashText hashes text: short text, of which JSON is full, without a call.
func hashText(s string) uint64 {
	n := len(s)
	switch {
	case n > 16:
		return xxhash.Sum64String(s)
	case n >= 8:
		return mix(load64(s, 0)^uint64(n), load64(s, n-8))
	case n >= 4:
		return mix(load32(s, 0)^uint64(n), load32(s, n-4))
	case n > 0:
		return mix(uint64(s[0])|uint64(s[n/2])<<8|uint64(s[n-1])<<16, uint64(n))
	}
	return 0x2d358dccaa6c78a5
}

func load32(s string, i int) uint64 {
	s = s[i : i+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// unescaped keeps memory for strings that do not fit on the stack.
var unescaped = sync.Pool{New: func() any { return new([]byte) }}

func hashEscaped(raw string) uint64 {
	if len(raw) <= 512 { // what it stands for is never longer
		var buffer [512]byte
		return hashBytes(appendUnescaped(buffer[:0], raw))
	}
	buffer := unescaped.Get().(*[]byte)
	*buffer = appendUnescaped((*buffer)[:0], raw)
	h := hashBytes(*buffer)
	if cap(*buffer) <= maxScan {
		unescaped.Put(buffer)
	}
	return h
}

// hashBytes is hashText of the same text.
func hashBytes(b []byte) uint64 {
	if len(b) > 16 {
		return xxhash.Sum64(b)
	}
	return hashText(string(b)) // on the stack
}

func appendUnescaped(b []byte, raw string) []byte {
	for raw != "" {
		n := strings.IndexByte(raw, '\\')
		if n < 0 || n+1 >= len(raw) {
			return append(b, raw...)
		}
		b = append(b, raw[:n]...)
		c := raw[n+1]
		raw = raw[n+2:]
		switch c {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'r':
			c = '\r'
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'u':
			var r rune
			r, raw = unescape(raw)
			b = utf8.AppendRune(b, r)
			continue
		}
		b = append(b, c)
	}
	return b
}

// unescape reads the four digits behind \u, and a second half behind them.
func unescape(s string) (rune, string) {
	r, ok := hex4(s)
	if !ok {
		return utf8.RuneError, s
	}
	s = s[4:]
	if r >= 0xd800 && r < 0xdc00 && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if low, ok := hex4(s[2:]); ok && low >= 0xdc00 && low < 0xe000 {
			return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, s[6:]
		}
	}
	return r, s
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	r := rune(0)
	for i := range 4 {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// hashScalar hashes true, false, null and numbers.
func hashScalar(raw string) (uint64, bool) {
	switch raw {
	case "null":
		return seedNull, true
	case "true":
		return seedTrue, true
	case "false":
		return seedFalse, true
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return 0, raw == "NaN" || raw == "Infinity"
	}
	if n, ok := integer(raw); ok {
		return hashInt(n), true
	}
	if digits(raw) { // a long integer, which a double would round
		return xxhash.Sum64String(raw), true
	}
	x, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		if math.IsInf(x, 0) { // beyond a double: as written
			return xxhash.Sum64String(raw), true
		}
		return 0, false
	}
	return hashFloat(x), true
}

func hashInt(n int64) uint64 { return mix(seedNumber, uint64(n)) }

func hashFloat(x float64) uint64 {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return hashInt(int64(x))
	}
	return mix(seedNumber+1, math.Float64bits(x))
}

// canonicalValue hashes a captured attribute of any type.
func canonicalValue(v value) canonical {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return canonicalText(v.Str())
	case pcommon.ValueTypeEmpty:
		return canonical{hash: hashText(""), empty: true}
	case pcommon.ValueTypeMap:
		if v.Map().Len() == 0 {
			return canonical{hash: hashText(""), empty: true}
		}
		if failed, ok := v.Map().Get("isError"); ok && failed.Type() == pcommon.ValueTypeBool && failed.Bool() {
			return canonical{hash: hashValue(v, 0), error: true, said: failureValue(v.Map())}
		}
	case pcommon.ValueTypeSlice:
		if v.Slice().Len() == 0 {
			return canonical{hash: hashText(""), empty: true}
		}
	}
	return canonical{hash: hashValue(v, 0)}
}

func hashValue(v value, depth int) uint64 {
	if depth > maxDepth {
		return seedNull
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return hashText(v.Str())
	case pcommon.ValueTypeInt:
		return hashInt(v.Int())
	case pcommon.ValueTypeDouble:
		return hashFloat(v.Double())
	case pcommon.ValueTypeBool:
		if v.Bool() {
			return seedTrue
		}
		return seedFalse
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		sum := uint64(b.Len())
		for i := range b.Len() {
			sum = mix(sum, uint64(b.At(i)))
		}
		return sum
	case pcommon.ValueTypeMap:
		sum := uint64(seedObject)
		for k, e := range v.Map().All() {
			if !volatileKey(k) {
				sum += mix(hashText(k), hashValue(e, depth+1))
			}
		}
		return sum
	case pcommon.ValueTypeSlice:
		sum := uint64(seedArray)
		s := v.Slice()
		for i := range s.Len() {
			sum = mix(sum, hashValue(s.At(i), depth+1))
		}
		return sum
	}
	return seedNull
}
