package convention

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

type value = pcommon.Value

// reading is the raw values of one span by slot and vocabulary: the scratch
// memory of one pass over the span's attributes.
type reading struct {
	seen  uint32        // vocabularies with any key
	own   uint32        // bit of the span's own vocabulary
	scope *scope        // of the span
	mask  [slots]uint32 // vocabularies that fill a slot
	rank  [vocabularyCount][slots]uint8
	value [vocabularyCount][slots]value

	name     string // of the span
	likeness bool   // asked for
	start    uint64 // of the span, Unix nanoseconds
	members  memberNames
	searches func(tool string) bool // see Extractor.Searches
	// searchTools are the answers of searches so far.
	searchTools map[string]bool
	// proved: the counts themselves show that input leaves out cached tokens;
	// they are added already.
	proved bool
	remote bool // the flags say that the parent is another process's

	// What numbered keys and events say.
	replyText   bool   // the reply has text
	replyCalls  bool   // the reply asks for a tool
	replySeen   bool   // the reply was captured
	replyPart   bool   // the reply says that it is one piece of a stream
	replyUsage  string // raw JSON of the usage that the reply carries
	offered     bool
	documents   int64
	finish      Finish
	firstToken  uint64 // Unix nanoseconds of the event
	args        string // from an event
	result      string
	hasArgs     bool
	hasResult   bool
	hasAnswer   bool
	asked       []AskedCall
	hashArgs    bool // the arguments of asked are wanted
	prompts     []numberedPrompt
	unescaped   []byte // memory of canonicalRaw
	evaluations []numberedEvaluation

	scopes scopeCache
	route  route
}

func (r *reading) reset() {
	r.seen, r.own, r.scope = 0, 0, nil
	r.mask = [slots]uint32{}
	r.proved, r.remote = false, false
	r.replyText, r.replyCalls, r.replySeen, r.replyPart, r.offered = false, false, false, false, false
	r.documents, r.finish, r.firstToken = Unknown, FinishNone, 0
	r.args, r.result, r.replyUsage = "", "", ""
	r.hasArgs, r.hasResult, r.hasAnswer = false, false, false
	r.asked, r.prompts, r.evaluations = r.asked[:0], r.prompts[:0], r.evaluations[:0]
	r.hashArgs = false
}

func (r *reading) put(e *entry, v value) {
	bit := uint32(1) << e.vocabulary
	r.seen |= bit
	if e.slot == slotMark {
		return
	}
	if r.mask[e.slot]&bit != 0 && r.rank[e.vocabulary][e.slot] <= e.rank {
		return
	}
	r.mask[e.slot] |= bit
	r.rank[e.vocabulary][e.slot] = e.rank
	r.value[e.vocabulary][e.slot] = v
}

func (r *reading) has(s slot) bool { return r.mask[s] != 0 }

// bare says whether the span has no attribute that any convention knows of.
func (r *reading) bare() bool { return r.seen&^(1<<shared|1<<claudeCode) == 0 }

// get is a slot's value: the own vocabulary's, else the first other's.
func (r *reading) get(s slot) (value, bool) {
	m := r.mask[s]
	if m == 0 {
		return value{}, false
	}
	if m&r.own != 0 {
		m = r.own
	} else if m &^= private; m == 0 {
		return value{}, false
	}
	return r.value[bits.TrailingZeros32(m)][s], true
}

// from is a slot's value in one vocabulary.
func (r *reading) from(v vocabularyID, s slot) (value, bool) {
	if r.mask[s]&(1<<v) == 0 {
		return value{}, false
	}
	return r.value[v][s], true
}

// text is a slot's value as text; "" when it is absent or no string.
func (r *reading) text(s slot) string {
	v, ok := r.get(s)
	if !ok {
		return ""
	}
	return v.Str()
}

func (r *reading) textFrom(v vocabularyID, s slot) string {
	x, ok := r.from(v, s)
	if !ok {
		return ""
	}
	return x.Str()
}

// maxCount bounds token counts: what is above is no count but garbage.
const maxCount = 1 << 50

// count reads a token count: integer, double or text. Negative, fractional
// beyond rounding, infinite and absurd values are [Unknown].
func count(v value) int64 {
	switch v.Type() {
	case pcommon.ValueTypeInt:
		if n := v.Int(); n >= 0 && n <= maxCount {
			return n
		}
	case pcommon.ValueTypeDouble:
		return countOf(v.Double())
	case pcommon.ValueTypeStr:
		return countText(v.Str())
	}
	return Unknown
}

func countOf(x float64) int64 {
	if x >= 0 && x <= maxCount { // false for NaN
		return int64(math.Round(x))
	}
	return Unknown
}

func countText(s string) int64 {
	s = strings.TrimSpace(text(s)) // in JSON a number may stand in quotes
	if n, ok := integer(s); ok {
		if n >= 0 && n <= maxCount {
			return n
		}
		return Unknown
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return countOf(x)
	}
	return Unknown
}

// integer reads up to 18 digits with a sign. Unlike strconv it allocates
// nothing when s is something else.
func integer(s string) (n int64, ok bool) {
	i := 0
	if s != "" && s[0] == '-' {
		i = 1
	}
	if len(s) == i || len(s) > i+18 {
		return 0, false
	}
	for _, c := range []byte(s[i:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if i == 1 {
		n = -n
	}
	return n, true
}

// digits says whether s is an integer of any length.
func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			if i > 0 || s[i] != '-' {
				return false
			}
		}
	}
	return s != ""
}

func (r *reading) count(s slot) int64 {
	if v, ok := r.get(s); ok {
		return count(v)
	}
	return Unknown
}

// number reads a finite number of any type; NaN when it is none.
func number(v value) float64 {
	x := math.NaN()
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		x = v.Double()
	case pcommon.ValueTypeInt:
		x = float64(v.Int())
	case pcommon.ValueTypeStr:
		if y, err := strconv.ParseFloat(strings.TrimSpace(v.Str()), 64); err == nil {
			x = y
		}
	}
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// positive is a slot's number if it is one from 0 to limit, else NaN.
func (r *reading) positive(s slot, limit float64) float64 {
	if v, ok := r.get(s); ok {
		if x := number(v); x >= 0 && x <= limit {
			return x
		}
	}
	return math.NaN()
}

// truth reads a boolean or its text.
func truth(v value) bool {
	switch v.Type() {
	case pcommon.ValueTypeBool:
		return v.Bool()
	case pcommon.ValueTypeStr:
		return strings.EqualFold(v.Str(), "true")
	case pcommon.ValueTypeInt:
		return v.Int() != 0
	}
	return false
}

// point reads a time in RFC 3339, also in quotes, as Unix nanoseconds; 0 when it
// is none.
func point(s string) uint64 {
	s = strings.Trim(s, `" `)
	if len(s) < len("2006-01-02T15:04:05") {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() <= 0 {
		return 0
	}
	return uint64(t.UnixNano())
}

// identity is the hash of an id; 0 for none and for what emitters write when
// they have none.
func identity(s string) uint64 {
	switch s {
	case "", "unknown", "<not specified>", "None", "null", "undefined", "N/A":
		return 0
	}
	return xxhash.Sum64String(s)
}

// redactedWithin says whether a value inside JSON text is a mark of redaction:
// what it stood for is not known, and two such texts need not be the same.
func redactedWithin(s string) bool {
	if !holds(s, '*', `***"`) && !holds(s, 'C', "REDACTED") && !holds(s, ']', "redacted]") {
		return false
	}
	for i := strings.IndexByte(s, '"'); i >= 0; {
		rest := s[i+1:]
		end := strings.IndexByte(rest, '"')
		if end < 0 {
			return false
		}
		if redacted(rest[:end]) {
			return true
		}
		next := strings.IndexByte(rest[end+1:], '"')
		if next < 0 {
			return false
		}
		i += 1 + end + 1 + next
	}
	return false
}

// holds says whether s contains word, which contains rare: most texts do not
// even contain that, and are left as fast as memory can be read.
func holds(s string, rare byte, word string) bool {
	return strings.IndexByte(s, rare) >= 0 && strings.Contains(s, word)
}

// redacted says whether s is a mark that content was not captured.
func redacted(s string) bool {
	if len(s) < 3 || len(s) > 24 {
		return false
	}
	switch s {
	case "***", "****", "*****", "__REDACTED__", "<REDACTED>", "[REDACTED]", "REDACTED", "<redacted>", "[redacted]",
		"<not specified>", "<not serializable>", "<elided>", "[Filtered]", "N/A":
		return true
	}
	return false
}

// positiveText is a number in text from 0 to limit, else NaN.
func positiveText(s string, limit float64) float64 {
	if x, err := strconv.ParseFloat(text(s), 64); err == nil && x >= 0 && x <= limit {
		return x
	}
	return math.NaN()
}
