package slo

import (
	"strings"
	"unicode"
)

// Built-in tool lists. They are globs over the name in snake case, so that
// FinalAnswer, final-answer and finalAnswer are all final_answer. The file's
// own globs are matched against the name as it was emitted, and mind the case.
var (
	answerTools     = []string{"final_answer", "final_output", "final_result", "finish", "submit_answer", "attempt_completion", "respond_to_user"}
	notCountedTools = []string{"handoff*", "transfer_to_*", "agent_handoff", "(merged_tools)"}
	thinkingTools   = []string{"think", "todo*", "plan*"}
	humanWaitTools  = []string{"ask_user*", "ask_human*", "*approval*"}
	escalationTools = []string{"escalate*", "handoff_to_human", "ask_human*", "request_human*"}
	abstainTools    = []string{"abstain*"}
	pausingTools    = []string{"sleep", "sleep_s", "sleep_ms", "sleep_seconds", "wait", "wait_s", "wait_ms", "wait_seconds", "pause", "delay"}
	searchTools     = []string{"search*", "*_search*", "retriev*", "*_retriev*", "*knowledge*"}
)

// AnswerTool says whether calling the tool is giving the answer: the file
// lists it as such, or it is in the built-in list (final_answer, final_output,
// final_result, finish, submit_answer, attempt_completion, respond_to_user)
// and the file does not name it as an ordinary tool, see [File.EvidenceTool].
func (f *File) AnswerTool(name string) bool {
	if f != nil {
		if matchAny(f.Tools.Answer, name) {
			return true
		}
		if f.namesTool(name) || matchAny(f.Tools.NotCounted, name) {
			return false
		}
	}
	return matchAny(answerTools, snakeCase(name))
}

// NotCountedTool says whether calls of the tool are neither evidence nor
// failure: the file lists it as such, or it is in the built-in list (handoff*,
// transfer_to_*, agent_handoff, "(merged tools)") and the file does not name it
// as an ordinary tool.
func (f *File) NotCountedTool(name string) bool {
	if f != nil {
		if matchAny(f.Tools.NotCounted, name) {
			return true
		}
		if f.namesTool(name) || matchAny(f.Tools.Answer, name) {
			return false
		}
	}
	return matchAny(notCountedTools, snakeCase(name))
}

// EvidenceTool says whether a successful call of the tool counts as having
// consulted something. Answer and not-counted tools never do. The built-in
// exceptions think, todo* and plan* hold against the glob "*", but not against
// a file that names such a tool any closer.
func (f *File) EvidenceTool(name string) bool {
	if f.AnswerTool(name) || f.NotCountedTool(name) {
		return false
	}
	if f == nil || f.Tools.Evidence == nil {
		return !matchAny(thinkingTools, snakeCase(name))
	}
	all := false
	for _, glob := range f.Tools.Evidence {
		if glob == "*" {
			all = true
		} else if MatchGlob(glob, name) {
			return true
		}
	}
	return all && (f.namesTool(name) || !matchAny(thinkingTools, snakeCase(name)))
}

// RequiredTool says whether the tool is one of those of which at least one
// must have succeeded.
func (f *File) RequiredTool(name string) bool {
	return f != nil && matchAny(f.Tools.Required, name)
}

// RetrievalTool says whether calls of the tool count as retrieval.
func (f *File) RetrievalTool(name string) bool {
	return f != nil && matchAny(f.Tools.Retrieval, name)
}

// WriteTool says whether the tool has side effects.
func (f *File) WriteTool(name string) bool {
	return f != nil && matchAny(f.Tools.Write, name)
}

// namesTool says whether the file names the tool as an ordinary one, in
// evidence, required, retrieval or write, by more than "*". What a file says of
// a tool beats the built-in lists: a bank's transfer_to_savings is no handoff.
func (f *File) namesTool(name string) bool {
	for _, globs := range [][]string{f.Tools.Evidence, f.Tools.Required, f.Tools.Retrieval, f.Tools.Write} {
		for _, glob := range globs {
			if glob != "*" && MatchGlob(glob, name) {
				return true
			}
		}
	}
	return false
}

// HumanWaitTool says whether a call of the tool waits for a person: ask_user*,
// ask_human* and *approval*, in any case style.
func HumanWaitTool(name string) bool { return matchAny(humanWaitTools, snakeCase(name)) }

// PausingTool says whether a call of the tool only lets time pass: sleep, wait,
// pause and delay, also with a unit behind them, in any case style.
func PausingTool(name string) bool { return matchAny(pausingTools, snakeCase(name)) }

// SearchTool says whether the tool answers questions in words by what it finds:
// it has a word that begins with search or retriev, or knowledge in its name, in
// any case style.
func SearchTool(name string) bool { return matchAny(searchTools, snakeCase(name)) }

// EscalationTool says whether a call of the tool hands the run to a person:
// escalate*, handoff_to_human, ask_human* and request_human*, in any case style.
func EscalationTool(name string) bool { return matchAny(escalationTools, snakeCase(name)) }

// AbstainTool says whether a call of the tool declines to answer: abstain*, in
// any case style.
func AbstainTool(name string) bool { return matchAny(abstainTools, snakeCase(name)) }

// snakeCase lowers a name and separates its words by _: AskUserQuestion,
// ask-user-question and "ask user question" are ask_user_question. A name that
// is in snake case already is returned as it is, without allocating.
func snakeCase(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r == '-' || r == ' ' || unicode.IsUpper(r) }) < 0 {
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + 4)
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '-' || r == ' ':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			// A capital begins a word after a small letter or digit, and at the
			// end of an acronym: askHTTPUser is ask_http_user.
			if i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
				unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
