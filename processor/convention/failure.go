package convention

import "strings"

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
		"internal server error", "internalservererror", "bad gateway", "gateway time", "service error", "server had an error",
		"remotedisconnected", "incompleteread"}},
	{BadArgs, []string{"unknown tool", "no such tool", "tool not found", "not found in registry", "unknown function", "nosuchtool",
		"invalid_argument", "invalid argument", "invalidargument", "validation", "validator", "invalid tool", "invalidtoolinput",
		"toolinputparsing", "invalid_request", "bad request", "badrequest", "unprocessable", "missing required", "missing parameter",
		"required property", "required field", "is required", "must be", "expected format", "malformed", "cannot parse", "could not parse",
		"jsondecodeerror", "schema", "typeerror", "valueerror", "keyerror", "out of range", "unexpected keyword", "invalid"}},
	{Unrecoverable, []string{"not found", "not_found", "notfound", "no such", "does not exist", "doesn't exist", "enoent", "gone", "deprecated",
		"unsupported", "not supported", "not implemented", "unimplemented", "notimplemented", "enotfound", "already exists", "conflict"}},
}

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
func classify(lower string) Class {
	// Words of the first two rows are more exact than a code (a quota that is
	// used up is a 429 too), the others less.
	for i, rule := range classRules {
		if i == 2 {
			if class := codeClass(statusCode(lower)); class != ClassNone {
				if class == Unrecoverable && unknownTool(lower) {
					return BadArgs
				}
				return class
			}
			if unknownTool(lower) {
				return BadArgs
			}
		}
		for _, word := range rule.words {
			if strings.Contains(lower, word) {
				return rule.class
			}
		}
	}
	return Unclassified
}

// unknownTool: "Tool 'x' not found".
func unknownTool(lower string) bool {
	i := strings.Index(lower, "tool ")
	return i >= 0 && (strings.Contains(lower[i:], "not found") || strings.Contains(lower[i:], "does not exist"))
}

// statusCode finds an HTTP error status in a text: at its beginning, or behind a
// word that announces one. Any other number is none: "timed out after 500 ms".
func statusCode(lower string) int {
	for i := 0; i+3 <= len(lower); i++ {
		c := lower[i]
		if c != '4' && c != '5' || i > 0 && (digit(lower[i-1]) || lower[i-1] == '.' || letter(lower[i-1])) {
			continue
		}
		if !digit(lower[i+1]) || !digit(lower[i+2]) || i+3 < len(lower) && (digit(lower[i+3]) || letter(lower[i+3])) {
			continue
		}
		if i > 0 {
			before := strings.TrimRight(lower[max(0, i-16):i], " :=(_-\"'[")
			if !announces(before) {
				continue
			}
		} else if rest := strings.TrimLeft(lower[3:], " "); strings.HasPrefix(rest, "ms") || strings.HasPrefix(rest, "sec") {
			continue
		}
		return int(c-'0')*100 + int(lower[i+1]-'0')*10 + int(lower[i+2]-'0')
	}
	return 0
}

func announces(before string) bool {
	for _, w := range []string{"http", "status", "code", "error", "returned", "response", "http/1.1", "http/2"} {
		if strings.HasSuffix(before, w) {
			return true
		}
	}
	return false
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

type failureRule struct {
	failure Failure
	words   []string // in lower case; one of them stands in the text
	whole   []string // or is the whole text or the whole type
}

var failureRules = []failureRule{
	{FailurePaused, []string{"graphinterrupt", "nodeinterrupt", "approvalrequired", "calldeferred", "userinputrequired",
		"parentcommand", "interruptexception"}, nil},
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
}

// failureOf is what a text says of a failure beyond that there is one.
func failureOf(lower string) Failure {
	trimmed := strings.TrimSpace(lower)
	for _, rule := range failureRules {
		for _, word := range rule.words {
			if strings.Contains(lower, word) {
				return rule.failure
			}
		}
		for _, whole := range rule.whole {
			if trimmed == whole {
				return rule.failure
			}
		}
	}
	return FailureNone
}

// maxErrorText bounds how much of an error's text is read, in bytes: what
// follows is a stack.
const maxErrorText = 1024

// lowered is the readable part of an error's text in lower case.
func lowered(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText]
	}
	return strings.ToLower(s)
}

// blame reads one text of a failure: it sets what is not yet known.
func (f *Facts) blame(s string) {
	if s == "" {
		return
	}
	lower := lowered(s)
	if failure := failureOf(lower); failure != FailureNone && f.Failure <= FailureError {
		f.Failure = failure
	}
	switch f.Class {
	case ClassNone, Unclassified:
		f.Class = classify(lower)
	case Unrecoverable:
		if unknownTool(lower) { // not found, but it was the tool that was not
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
	if s == "" {
		return false
	}
	lower := lowered(s)
	for _, w := range []string{"client closed", "client disconnected", "clientdisconnect", "client has closed", "context canceled",
		"request aborted by client", "client aborted"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}
