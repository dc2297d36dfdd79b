package convention

import (
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Likeness is what two tool calls may have in common although their arguments,
// results or errors are not the same to the letter. All are hashes to be
// compared within one run; 0 is not known, or nothing of the kind.
type Likeness struct {
	// Same is of the arguments without generated members, ids of the request and
	// the time of the call; 0 where there are none.
	Same uint32
	// Args is Same without what else does not matter: letter case, white space and
	// a full stop.
	Args uint32
	// Ask is Args without the words of its texts, but for names, numbers and ids
	// in them, and without what says how much is asked for: calls that agree in it
	// may ask for the same thing in other words. The texts are those of three words
	// and more, those that are called a query, and all without digits of a tool that
	// searches.
	Ask uint32
	// Words has a bit for each word that Ask leaves out; none of a tool that
	// searches, which finds the same whatever the words.
	Words uint64
	// Result is of the result without generated members and times of the call.
	Result uint32
	// Substance says how much the result tells.
	Substance Substance
	// Error is of a failure's texts, without numbers and ids.
	Error uint32
}

// Substance is how much a result tells. Many calls have the same result when
// results say little, and nobody is going in circles.
type Substance uint8

const (
	NoSubstance Substance = iota // not captured
	Trivial                      // empty, ok, true, 3, "not found"
	Slight                       // a word or two
	Content
)

// Bounds of what is read for likeness, in bytes: longer values are alike when
// they are the same.
const (
	maxLike    = 16 << 10
	minTelling = 12 // letters of a result from which on it is Content
)

// around is how far from the start of its span, in nanoseconds, a time in a
// tool call still is the time of the call.
const around = uint64(10 * time.Minute)

func (f *Facts) likens() bool { return f.reading != nil && f.reading.likeness }

func (f *Facts) likeArgs(s string) {
	if f.likens() {
		f.reading.likeArgs(&f.Like, f.ToolName, s, f.ArgsHash)
	}
}

func (f *Facts) likeResult(s string) {
	if f.likens() {
		f.reading.likeResult(&f.Like, s, f.ResultHash)
	}
}

// likeArgs reads arguments, whose hash says enough where they are too long.
func (r *reading) likeArgs(to *Likeness, tool, s string, hash uint64) {
	l := liken{start: r.start, members: &r.members, words: true}
	l.searches = r.searching(tool)
	h, ok := l.captured(s)
	if !ok {
		to.Args = short(hash)
		return
	}
	to.Args = short(h.loose)
	if l.made {
		to.Same = short(h.same)
	}
	if l.asks {
		to.Ask, to.Words = short(h.ask), l.bits
	}
}

func (r *reading) likeResult(to *Likeness, s string, hash uint64) {
	l := liken{start: r.start, members: &r.members}
	h, ok := l.captured(s)
	if !ok {
		to.Result, to.Substance = short(hash), Content
		return
	}
	to.Result = short(h.loose)
	switch {
	case l.telling == 0:
		to.Substance = Trivial
	case l.telling < minTelling:
		to.Substance = Slight
	default:
		to.Substance = Content
	}
}

// meant is what a raw JSON value stands for, as text.
func meant(raw string) string {
	s := text(raw)
	if len(s) < len(raw) && strings.IndexByte(s, '\\') >= 0 {
		return string(appendUnescaped(nil, s))
	}
	return s
}

// likeError adds one text of a failure. It is read whether likeness is asked for
// or not: failures are few.
func (f *Facts) likeError(s string) {
	if f.Kind != Tool && f.Kind != Model && f.Kind != Note {
		return
	}
	f.Like.Error = short(mix(uint64(f.Like.Error), errorHash(s)))
}

func short(h uint64) uint32 { return uint32(h>>32) | 1 }

// liken reads one captured value.
type liken struct {
	start    uint64 // of the span, Unix nanoseconds
	members  *memberNames
	words    bool   // read texts word by word, else as they are
	searches bool   // the tool searches
	query    bool   // the member that is read is called a query
	made     bool   // something was made anew for the call
	asks     bool   // something was left out of ask
	bits     uint64 // of the words that were
	telling  int    // bytes of text that says something
}

// likes are the hashes of one value, see [Likeness].
type likes struct{ same, loose, ask uint64 }

func alike(h uint64) likes { return likes{h, h, h} }

func (a likes) mix(b likes) likes {
	return likes{mix(a.same, b.same), mix(a.loose, b.loose), mix(a.ask, b.ask)}
}

func (a likes) add(b likes) likes {
	return likes{a.same + b.same, a.loose + b.loose, a.ask + b.ask}
}

// plain is a captured attribute as text.
func plain(v value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return v.AsString()
}

// captured reads what was captured; not ok when it is too long.
func (l *liken) captured(s string) (likes, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxLike {
		return likes{}, false
	}
	if s == "" || s == "null" || s == "None" {
		return alike(hashText("")), true
	}
	switch s[0] {
	case '{', '[', '"':
		inner, _ := unwrap(s)
		if h, end := l.json(inner, 0, 0); end == len(inner) {
			return h, true
		}
		return l.text(inner), true
	case 'c':
		if strings.HasPrefix(s, "content=") { // LangChain's message, see canonicalText
			if i := strings.LastIndex(s, " tool_call_id="); i > 0 {
				s = s[:i]
			}
		}
	}
	return l.text(s), true
}

// json reads the value at s[i], as hashJSON does.
func (l *liken) json(s string, i, depth int) (likes, int) {
	i = skipSpace(s, i)
	if i >= len(s) || depth > maxDepth {
		return likes{}, -1
	}
	switch s[i] {
	case '{':
		return l.object(s, i, depth)
	case '[':
		sum := alike(seedArray)
		if i = skipSpace(s, i+1); i < len(s) && s[i] == ']' {
			return sum, skipSpace(s, i+1)
		}
		for {
			var h likes
			if h, i = l.json(s, i, depth+1); i < 0 || i >= len(s) {
				return likes{}, -1
			}
			sum = sum.mix(h)
			if s[i] == ']' {
				return sum, skipSpace(s, i+1)
			}
			if s[i] != ',' {
				return likes{}, -1
			}
			i++
		}
	case '"':
		end, escaped := scanString(s, i)
		if end < 0 {
			return likes{}, -1
		}
		text := s[i+1 : end-1]
		if escaped {
			text = string(appendUnescaped(nil, text))
		}
		return l.text(text), skipSpace(s, end)
	}
	end := skipValue(s, i)
	if end < 0 {
		return likes{}, -1
	}
	if n, ok := integer(s[i:end]); ok && l.now(epoch(n)) {
		l.made = true
		return alike(seedNumber), skipSpace(s, end)
	}
	h, ok := hashScalar(s[i:end])
	if !ok {
		return likes{}, -1
	}
	return alike(h), skipSpace(s, end)
}

// object reads an object. What is made anew for each call is left out of it, but
// not where nothing else is in the arguments: then it is what the call is about.
func (l *liken) object(s string, i, depth int) (likes, int) {
	sum, left := alike(seedObject), likes{}
	about := depth > 0 || !l.words
	before := *l
	if i = skipSpace(s, i+1); i < len(s) && s[i] == '}' {
		return sum, skipSpace(s, i+1)
	}
	for {
		if i >= len(s) || s[i] != '"' {
			return likes{}, -1
		}
		end, escaped := scanString(s, i)
		if end < 0 {
			return likes{}, -1
		}
		raw := s[i+1 : end-1]
		if i = skipSpace(s, end); i >= len(s) || s[i] != ':' {
			return likes{}, -1
		}
		key := hashString(raw, escaped)
		kind := l.members.kind(raw, key)
		saved := *l
		l.query = l.query || kind == queryMember
		var h likes
		if h, i = l.json(s, i+1, depth+1); i < 0 || i >= len(s) {
			return likes{}, -1
		}
		l.query = before.query
		h = likes{mix(key, h.same), mix(key, h.loose), mix(key, h.ask)}
		switch {
		case kind == generatedMember:
			*l = saved
			left = left.add(h)
		case kind == randomMember && l.words:
			*l = saved
			sum.same += h.same
			left = left.add(likes{0, h.loose, h.ask})
		case kind == extentMember && l.words:
			l.asks = true
			sum.same, sum.loose = sum.same+h.same, sum.loose+h.loose
		default:
			about = true
			sum = sum.add(h)
		}
		if s[i] == '}' {
			if !about {
				sum = sum.add(left)
			}
			l.made = l.made || about && left.same != 0
			return sum, skipSpace(s, i+1)
		}
		if s[i] != ',' {
			return likes{}, -1
		}
		i = skipSpace(s, i+1)
	}
}

// memberKind is what a member of arguments is to a call, by its name.
type memberKind uint8

const (
	plainMember     memberKind = iota
	generatedMember            // made anew for each call
	randomMember               // may be, and may be what the call is about
	queryMember                // a question in words
	extentMember               // how much is asked for, and from where on
)

// memberNames remembers what is known of members' names: they are the same in
// call after call. An entry is the hash of a name, its lowest bits the kind.
type memberNames [64]uint64

func (m *memberNames) kind(key string, hash uint64) memberKind {
	e := &m[hash>>8%uint64(len(m))]
	if *e>>3 != hash>>3 || *e == 0 {
		*e = hash&^7 | uint64(memberKindOf(key))
	}
	return memberKind(*e & 7)
}

// memberKindOf knows names in any case style.
func memberKindOf(key string) memberKind {
	if len(key) > 40 {
		return plainMember
	}
	var buffer [40]byte
	name := buffer[:0]
	for i := 0; i < len(key); i++ {
		if c := fold[key[i]]; c != '_' && c != '-' && c != '.' {
			name = append(name, c)
		}
	}
	switch string(name) {
	case "timestamp", "ts", "now", "currenttime", "requesttime", "requestedat", "sentat", "clienttime", "generatedat", "calledat",
		"reqid", "callid", "tooluseid", "cachebuster", "cachebust", "attempt", "attemptnumber", "retry", "retries", "retrycount", "retryattempt",
		"elapsedms", "durationms", "latencyms", "tookms", "took":
		return generatedMember
	case "uuid", "guid", "random", "salt":
		return randomMember
	case "q", "query", "queries", "question", "search", "searchquery", "searchterm", "searchterms", "term", "terms", "keyword", "keywords",
		"topic", "prompt":
		return queryMember
	case "page", "pagenumber", "pagesize", "perpage", "offset", "skip", "cursor", "pagetoken", "nextpagetoken", "limit", "topk",
		"maxresults", "numresults":
		return extentMember
	}
	for _, part := range [...]string{"requestid", "correlationid", "traceid", "spanid", "traceparent", "idempotency", "nonce", "toolcallid",
		"clienttoken"} {
		if strings.Contains(string(name), part) {
			return generatedMember
		}
	}
	return plainMember
}

// epoch is a number as Unix nanoseconds, if it may count seconds, milli-, micro-
// or nanoseconds since 1970; else 0.
func epoch(n int64) uint64 {
	for _, unit := range [...]int64{1e9, 1e6, 1e3, 1} {
		if n >= 1e18/unit && n < 4e18/unit {
			return uint64(n * unit)
		}
	}
	return 0
}

// now says whether a time is that of the call.
func (l *liken) now(t uint64) bool {
	return t != 0 && l.start != 0 && t+around >= l.start && t <= l.start+around
}

// minWords is how many words make a text a sentence, which says the same thing
// in other words, rather than a name.
const minWords = 3

// text reads a text. Of arguments, letter case, white space and a full stop do
// not matter. Names, numbers and addresses in it are what it is about; the other
// words are how it says so.
func (l *liken) text(s string) likes {
	if len(s) >= len("2006-01-02T15:04:05") && len(s) <= 35 && digit(s[0]) && s[4] == '-' && l.now(point(s)) {
		l.made = true
		return alike(seedNumber)
	}
	if !l.words {
		if !tellsNothing(s) {
			l.telling += len(s)
		}
		return alike(hashText(s))
	}
	whole := s
	s = strings.TrimRight(strings.TrimSpace(s), ".!?")
	x := wording{hash: fnvSeed}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case classes[c]&isWord != 0:
			i = x.word(s, i)
		case c <= ' ':
			for i++; i < len(s) && s[i] <= ' '; i++ {
			}
			x.hash = fnv(x.hash, ' ')
		default:
			x.hash = fnv(x.hash, c)
			i++
		}
	}
	h := likes{same: hashText(whole), loose: x.hash, ask: x.hash}
	switch {
	case l.searches && x.words > 0 && x.things == 0, l.searches && x.words >= minWords:
		l.asks = true
		h.ask = mix(seedTrue, x.things)
	case l.query && x.words > 0 && x.things == 0, x.words >= minWords:
		l.asks = true
		h.ask = mix(seedTrue, x.things+x.names)
		l.bits |= x.bits
	}
	return h
}

// wording is what the words of one text add up to.
type wording struct {
	hash   uint64 // of the folded text
	words  int
	bits   uint64 // of the words that mean something
	things uint64 // of numbers, ids and addresses, in any order
	names  uint64 // of words with a capital letter inside the text
}

// word reads the word at s[i] and gives the index behind it.
func (x *wording) word(s string, i int) int {
	start, h, before := i, uint64(fnvSeed), uint64(fnvSeed)
	class, capitals := byte(0), 0
	for ; i < len(s); i++ {
		c := classes[s[i]]
		if c&isWord == 0 && (c&isJoint == 0 || i+1 == len(s) || classes[s[i+1]]&isWord == 0) {
			break
		}
		class |= c
		capitals += int(c & isCapital)
		before, h = h, fnv(h, fold[s[i]])
	}
	n := i - start
	x.hash = mix(x.hash, h)
	switch {
	case class&isThing != 0:
		x.things += mix(h, uint64(n))
	case capitals > 0 && (x.words > 0 || capitals > 1):
		x.words++
		x.names += mix(h, uint64(n))
	default:
		x.words++
		if n >= 3 && !filler(s[start:i]) {
			if n > 3 && fold[s[i-1]] == 's' { // plural
				h = before
			}
			x.bits |= 1 << (mix(h, 1) & 63)
		}
	}
	return i
}

const fnvSeed = 14695981039346656037

func fnv(h uint64, c byte) uint64 { return (h ^ uint64(c)) * 1099511628211 }

// What a byte can be; isCapital is 1, to be counted.
const (
	isCapital = 1 << iota
	isWord    // a letter or digit, or part of one
	isJoint   // holds a word together when it stands inside
	isThing   // makes a word a number, an id or an address
)

var classes = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case digit(c):
			t[i] = isWord | isThing
		case c >= 'A' && c <= 'Z':
			t[i] = isWord | isCapital
		case letter(c), c >= utf8.RuneSelf:
			t[i] = isWord
		}
	}
	for _, c := range []byte("-'") {
		t[c] = isJoint
	}
	for _, c := range []byte("_./@:") {
		t[c] = isJoint | isThing
	}
	return t
}()

// filler says whether a word is there for the sentence only.
func filler(word string) bool {
	var buffer [8]byte
	if len(word) > len(buffer) {
		return false
	}
	for i := 0; i < len(word); i++ {
		buffer[i] = fold[word[i]]
	}
	switch string(buffer[:len(word)]) {
	case "the", "and", "for", "are", "was", "what", "which", "who", "how", "when", "where", "why", "does", "did", "can", "could",
		"should", "would", "will", "may", "that", "this", "these", "those", "with", "from", "about", "there", "their", "them", "you",
		"your", "please", "any", "all", "has", "have", "had", "but", "not", "its", "our", "into", "onto", "than", "then", "tell",
		"give", "show", "find", "get", "info":
		return true
	}
	return false
}

// tellsNothing says whether a text only says that something was done, or that
// there is nothing.
func tellsNothing(s string) bool {
	var buffer [24]byte
	if len(s) > len(buffer) {
		return false
	}
	if s = strings.TrimRight(strings.TrimSpace(s), ".!?"); numeric(s) {
		return true
	}
	for i := 0; i < len(s); i++ {
		if buffer[i] = fold[s[i]]; buffer[i] == '_' {
			buffer[i] = ' '
		}
	}
	switch string(buffer[:len(s)]) {
	case "", "ok", "okay", "done", "success", "successful", "succeeded", "true", "false", "yes", "no", "none", "null", "nil", "n/a",
		"accepted", "sent", "saved", "created", "updated", "deleted", "queued", "complete", "completed", "finished", "written",
		"ack", "acknowledged", "empty", "not found", "no result", "no results", "no results found", "no data", "no data found", "nothing",
		"nothing found", "no match", "no matches", "no matches found", "no documents", "no documents found", "no output":
		return true
	}
	return false
}

// numeric says whether a text is a number.
func numeric(s string) bool {
	return strings.Trim(strings.TrimLeft(s, "-+"), "0123456789.,%") == ""
}

// errorHash is of a failure's text without numbers, ids and times, which change
// from one failure to the next of its kind.
func errorHash(s string) uint64 {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	sum := uint64(seedArray)
	for i := 0; i < len(s); {
		if classes[s[i]]&isWord == 0 {
			i++
			continue
		}
		h, class := uint64(fnvSeed), byte(0)
		for ; i < len(s) && (classes[s[i]]&isWord != 0 || s[i] == '-'); i++ {
			class |= classes[s[i]]
			h = fnv(h, fold[s[i]])
		}
		if class&isThing == 0 {
			sum = mix(sum, h)
		}
	}
	return sum
}

// searching asks once whether a tool searches.
func (r *reading) searching(tool string) bool {
	if r.searches == nil {
		return false
	}
	known, ok := r.searchTools[tool]
	if !ok {
		known = r.searches(tool)
		if r.searchTools == nil {
			r.searchTools = map[string]bool{}
		}
		if len(r.searchTools) < 1000 { // a tool's name may be anything
			r.searchTools[strings.Clone(tool)] = known
		}
	}
	return known
}
