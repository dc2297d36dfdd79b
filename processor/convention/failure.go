package convention

import (
	"slices"
	"strings"
)

// A failure's class and what it says beyond come from four texts: error.type,
// the exception's type and message, the status message. The rows are tried in
// order; the first that matches decides.

type classRule struct {
	class Class
	words []string // in lower case; one of them stands in the text
}

var classRules = []classRule{
	{Unrecoverable, []string{"insufficient_quota", "insufficient quota", "quota exceeded", "exceeded your current quota", "billing",
		"credit balance", "payment required", "content policy", "content_policy"}},
	{Auth, []string{"unauthorized", "unauthenticated", "forbidden", "permission_denied", "permission denied", "permissiondenied",
		"permissionerror", "access denied", "accessdenied", "not authorized", "not allowed to", "authentication", "authorization failed",
		"invalid api key", "invalid_api_key", "incorrect api key", "invalid token", "expired token", "token expired", "token has expired",
		"invalid credentials", "eacces", "eperm"}},
	{Transient, []string{"timeout", "timed out", "time-out", "etimedout", "deadline exceeded", "deadline_exceeded", "deadlineexceeded",
		"rate limit", "rate_limit", "ratelimit", "too many requests", "toomanyrequests", "throttl", "overloaded", "overload",
		"resource_exhausted", "temporarily", "try again later", "unavailable", "econnreset", "econnrefused", "econnaborted", "epipe",
		"eai_again", "connection reset", "connection refused", "connection error", "connectionerror", "connection closed",
		"connection aborted", "connecterror", "socket hang up", "network error", "fetch failed", "apiconnectionerror",
		"circuit breaker", "circuitbreaker", "circuit open", "circuit is open", "brokencircuit", "callnotpermitted",
		"internal server error", "internalservererror", "bad gateway", "gateway time", "service error", "server had an error",
		"remotedisconnected", "incompleteread"}},
	{BadArgs, noToolWords},
	{BadArgs, []string{"invalid_argument", "invalid argument", "invalidargument", "validation", "validator", "invalid tool", "invalidtoolinput",
		"toolinputparsing", "invalid_request", "bad request", "badrequest", "unprocessable", "missing required", "missing parameter",
		"required property", "required field", "is required", "must be", "expected format", "malformed", "cannot parse", "could not parse",
		"jsondecodeerror", "schema", "typeerror", "valueerror", "keyerror", "out of range", "unexpected keyword", "invalid"}},
	{Unrecoverable, []string{"not found", "not_found", "notfound", "no such", "does not exist", "doesn't exist", "enoent", "gone", "deprecated",
		"unsupported", "not supported", "not implemented", "unimplemented", "notimplemented", "enotfound", "already exists", "conflict"}},
}

// noToolWords say that there is no tool of that name, so that none was called.
var noToolWords = []string{"unknown tool", "no such tool", "tool not found", "not found in registry", "unknown function", "nosuchtool",
	"call unavailable tool"}

// codeClass is the class of an HTTP status.
func codeClass(code int) Class {
	switch {
	case code == 408, code == 409, code == 425, code == 429, code >= 500:
		return Transient
	case code == 401, code == 403, code == 407:
		return Auth
	case code == 402, code == 404, code == 405, code == 410, code == 451, code == 501:
		return Unrecoverable
	case code >= 400:
		return BadArgs
	}
	return ClassNone
}

// classify is the class that a text says; [Unclassified] if it says none.
func classify(s string, found match) Class {
	// The first two rows are more exact than a code (a quota that is used up is a
	// 429 too), the others less.
	if found.class < exactRules {
		return classRules[found.class].class
	}
	tool := unknownTool(found)
	if class := codeClass(statusCode(s)); class != ClassNone && !(tool && class == Unrecoverable) {
		return class
	}
	switch {
	case tool:
		return BadArgs
	case int(found.class) < len(classRules):
		return classRules[found.class].class
	}
	return Unclassified
}

const exactRules = 2

const usedUp = 0 // the row of used-up quotas

// unknownTool: "unknown tool x", or "Tool 'x' not found".
func unknownTool(found match) bool {
	return found.noTool || found.tool && found.missing
}

// statusCode finds an HTTP error status in a text: at its beginning, or behind a
// word that announces one. Any other number is none: "timed out after 500 ms".
func statusCode(s string) int {
	for i := 0; i+3 <= len(s); i++ {
		c := s[i]
		if c != '4' && c != '5' || i > 0 && (digit(s[i-1]) || s[i-1] == '.' || letter(s[i-1])) {
			continue
		}
		if !digit(s[i+1]) || !digit(s[i+2]) || i+3 < len(s) && (digit(s[i+3]) || letter(s[i+3])) {
			continue
		}
		if i > 0 {
			if !announces(strings.TrimRight(s[max(0, i-16):i], " :=(_-\"'[")) {
				continue
			}
		} else if rest := strings.TrimLeft(s[3:], " "); strings.HasPrefix(rest, "ms") || strings.HasPrefix(rest, "sec") {
			continue
		}
		return int(c-'0')*100 + int(s[i+1]-'0')*10 + int(s[i+2]-'0')
	}
	return 0
}

func announces(before string) bool {
	for _, w := range []string{"http", "status", "code", "error", "returned", "response", "http/1.1", "http/2"} {
		if n := len(before) - len(w); n >= 0 && strings.EqualFold(before[n:], w) {
			return true
		}
	}
	return false
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// failureControl is an exception by which a framework passes control on:
// nothing failed. It does not leave this package.
const failureControl Failure = 255

type failureRule struct {
	failure Failure
	words   []string // in lower case; one of them stands in the text
	whole   []string // or is the whole text or the whole type
}

var failureRules = []failureRule{
	{failureControl, []string{"parentcommand"}, nil},
	{FailurePaused, []string{"graphinterrupt", "nodeinterrupt", "approvalrequired", "calldeferred", "userinputrequired",
		"interruptexception"}, nil},
	{FailureNoProgress, []string{"noprogress", "no progress", "loopdetected", "loop detected", "repeated tool call"}, nil},
	{FailureLimit, []string{"maxturnsexceeded", "max turns exceeded", "maximum number of turns", "max_turns", "graphrecursionerror",
		"recursion limit of", "usagelimitexceeded", "llmcallslimitexceeded", "error_max_turns", "error_max_budget_usd",
		"maxtokensreached", "maxtokenserror", "maximum token limit", "maximum tool call iterations", "output token maximum",
		"workflowconvergenceexception", "max iterations", "maximum iterations", "max_iterations", "maximum number of iterations",
		"max steps", "maximum steps", "max_steps", "maximum number of steps", "step limit", "turn limit", "call limit", "budget exceeded",
		"request_limit", "tool_calls_limit"}, nil},
	{FailureGuardrail, []string{"guardrailtripwire", "guardrail tripwire", "tripwiretriggered", "tripwire_triggered", "tripwire triggered"},
		nil},
	{FailureCancelled, []string{"aborterror", "cancellederror", "cancelederror", "operationcanceled", "taskcanceled", "runcancelled",
		"keyboardinterrupt", "operation was aborted", "operation aborted", "request was aborted", "invocation cancelled",
		"invocation canceled", "context canceled", "context cancelled", "run cancelled", "run canceled", "cancelled by user",
		"canceled by user", "client closed", "client disconnected", "clientdisconnect", "user.interrupt", "stream closed by"},
		[]string{"aborted", "abort", "error: aborted", "cancelled", "canceled", "abandoned", "interrupted"}},
	{FailureSchema, []string{"noobjectgenerated", "no object generated", "outputparserexception", "output_parsing_failure", "output parsing",
		"output validation", "outputvalidation", "structured output", "structuredoutput", "invalid json when parsing", "did not match schema",
		"does not match the expected schema"}, nil},
}

// match is what one pass over a text finds: the first rows of the tables
// that have a word in it.
type match struct {
	class, failure, fault uint8 // len(table) none
	tool, missing, noTool bool
}

var noMatch = match{class: uint8(len(classRules)), failure: uint8(len(failureRules)), fault: uint8(len(faultRules))}

// words finds the words of all tables in one pass over a text: by the two
// bytes that a word begins with.
type words struct {
	heads [1 << 10]uint16 // place of the first word plus one; 0 none
	list  []errorWord
}

type errorWord struct {
	text string
	match
	next uint16 // of the same head, as in heads
}

var errorWords = newWords()

func headOf(a, b byte) int { return (int(a)*33 ^ int(b)) & (1<<10 - 1) }

func newWords() *words {
	w := &words{}
	add := func(text string, means func(*match)) {
		h := headOf(text[0], text[1])
		x := errorWord{text: text, match: noMatch, next: w.heads[h]}
		means(&x.match)
		w.list = append(w.list, x)
		w.heads[h] = uint16(len(w.list))
	}
	for i, rule := range classRules {
		for _, text := range rule.words {
			add(text, func(m *match) { m.class, m.noTool = uint8(i), slices.Contains(noToolWords, text) })
		}
	}
	for i, rule := range failureRules {
		for _, text := range rule.words {
			add(text, func(m *match) { m.failure = uint8(i) })
		}
	}
	for i, rule := range faultRules {
		for _, text := range rule.words {
			add(text, func(m *match) { m.fault = uint8(i) })
		}
	}
	add("tool ", func(m *match) { m.tool = true })
	for _, text := range []string{"not found", "does not exist"} {
		add(text, func(m *match) { m.missing = true })
	}
	return w
}

// fold makes capital ASCII letters small.
var fold = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

func hasFolded(s, lower string) bool {
	if len(s) < len(lower) {
		return false
	}
	for i := 0; i < len(lower); i++ {
		if fold[s[i]] != lower[i] {
			return false
		}
	}
	return true
}

func (w *words) find(s string) match {
	m := noMatch
	if s == "" {
		return m
	}
	a := fold[s[0]]
	for i := 1; i < len(s); i++ {
		b := fold[s[i]]
		for p := w.heads[headOf(a, b)]; p != 0; {
			x := &w.list[p-1]
			if hasFolded(s[i-1:], x.text) {
				m.class, m.failure, m.fault = min(m.class, x.class), min(m.failure, x.failure), min(m.fault, x.fault)
				m.tool, m.missing = m.tool || x.tool, m.missing || x.missing && m.tool
				m.noTool = m.noTool || x.noTool
			}
			p = x.next
		}
		a = b
	}
	return m
}

// failureOf is what a text says of a failure beyond that there is one.
func failureOf(s string, found match) Failure {
	if int(found.failure) < len(failureRules) {
		return failureRules[found.failure].failure
	}
	if i := strings.IndexByte(s, '\n'); i > 0 {
		s = s[:i] // below is a stack
	}
	if s = strings.TrimSpace(s); len(s) < 24 {
		for _, rule := range failureRules {
			for _, whole := range rule.whole {
				if strings.EqualFold(s, whole) {
					return rule.failure
				}
			}
		}
	}
	return FailureNone
}

// maxErrorText bounds how much of an error's text is read, in bytes: what
// follows is a stack.
const maxErrorText = 512

// blame reads one text of a failure: it sets what is not yet known.
func (f *Facts) blame(s string) {
	if s == "" {
		return
	}
	if s[0] == '[' && strings.Contains(s, "GraphInterrupt") {
		f.Failure = FailurePaused // LangGraph's text is the interrupt's value, of any length
		return
	}
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	found := errorWords.find(s)
	f.likeError(s)
	if f.Kind == Model {
		f.Fault = f.Fault.or(providerFault(s, found))
	}
	if failure := failureOf(s, found); failure != FailureNone && f.Failure <= FailureError {
		f.Failure = failure
	}
	switch f.Class {
	case ClassNone, Unclassified:
		f.Class = classify(s, found)
	case Transient:
		if found.class == usedUp { // a quota that is used up comes as a rate limit
			f.Class = Unrecoverable
		}
	case Unrecoverable:
		if unknownTool(found) { // not found, but it was the tool that was not
			f.Class = BadArgs
		}
	}
}

// fail marks the span as failed and reads what a text says of it.
func (f *Facts) fail(s string) {
	f.Failed = true
	f.Failure = max(f.Failure, FailureError)
	f.blame(s)
	if f.Class == ClassNone {
		f.Class = Unclassified
	}
}

// callerGone reads a text for the caller having left.
func callerGone(s string) bool {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	for i := range len(s) {
		switch fold[s[i]] {
		case 'c', 'r':
			for _, w := range [...]string{"client closed", "client disconnected", "clientdisconnect", "client has closed",
				"context canceled", "request aborted by client", "client aborted"} {
				if hasFolded(s[i:], w) {
					return true
				}
			}
		}
	}
	return false
}

// admit reads an exception that was recorded on a span that did not fail.
func (f *Facts) admit(s string) {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	switch failure := failureOf(s, errorWords.find(s)); failure {
	case FailurePaused, FailureLimit:
		f.Failure = failure
	case FailureCancelled:
		if f.Kind != Tool { // a tool may have caught it
			f.Failure = failure
		}
	}
}
