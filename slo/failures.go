package slo

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The keys of the SLI kinds about failures that agents have: retry_discipline,
// duplicate_effects, stuck_after_blocker, handoff and forbidden_actions.

const (
	defaultRetries = 2 // three attempts, as most clients make
	// defaultSteps leaves room for two retries, a look for another way and a hand-over.
	defaultSteps = 10
	maxCount     = 1_000_000
)

// defaultIdempotencyKeys are arguments by whose value services know a call
// that comes again, in any case style.
var defaultIdempotencyKeys = []string{"idempotency_key", "idempotency_token", "client_token", "client_request_id", "client_request_token",
	"request_token", "deduplication_id", "dedupe_key"}

// Field is something that the ticket of a hand-over must say, and the
// arguments that say it, in any case style and at any depth.
type Field struct {
	Name      string
	Arguments []string
}

// defaultFields are what whoever takes over needs.
var defaultFields = []Field{
	{"blocker", []string{"blocker", "blocked_by", "blocked_on", "problem", "issue", "obstacle", "reason", "cause", "error"}},
	{"evidence", []string{"evidence", "proof", "error_message", "error_text", "logs", "log", "findings", "observations", "references", "links",
		"attachments", "details", "trace"}},
	{"help_needed", []string{"help_needed", "help", "needs", "needed", "what_is_needed", "ask", "request", "requested_action", "action_needed",
		"action_required", "question", "next_step", "next_steps"}},
	{"progress", []string{"progress", "own_progress", "done", "done_so_far", "work_done", "so_far", "tried", "attempts", "attempted",
		"steps_taken", "actions_taken", "completed"}},
	{"verified", []string{"verified", "is_verified", "progress_verified", "verification", "verified_by", "confirmed", "validated", "checked"}},
}

// Action is a tool call that must not happen.
type Action struct {
	Tool string // glob
	// Arguments is looked for in the call's arguments; nil: any.
	Arguments *regexp.Regexp
	MaxCalls  int // so many such calls of a run are tolerated; default 0
}

// What is asked of each call's arguments costs time and memory at each call.
const maxActions, maxFields = 100, 20

// maxPattern is the length in characters of a pattern over arguments.
const maxPattern = 1000

// QuestionKind says what is asked of a tool call's arguments.
type QuestionKind uint8

const (
	AskField   QuestionKind = iota // has one of the names a value that is not empty?
	AskPattern                     // is the pattern found?
	AskKey                         // what is the value of the first of the names?
)

// Conditional says whether the SLO is about some runs only: those of its own
// agents, or for which its when is true, or in which something happens: a
// failure, an effect, a hand-over. All others are excluded, however many; they
// are no gap in what is known.
func (o *Objective) Conditional() bool {
	if sampled := o.ExpectedCoverage.IsPositive() && o.ExpectedCoverage.LessThan(one); (len(o.Agents) > 0 || o.When != nil) && !sampled {
		return true // of a sample, what was not judged is excluded as well, and a judge that stopped must show
	}
	switch o.SLI {
	case "retry_discipline", "duplicate_effects", "stuck_after_blocker", "handoff":
		return true
	}
	return false
}

// Question is asked of the arguments of tool calls while they are at hand:
// what is kept of an open run has no values.
type Question struct {
	ID      uint32 // the same for the same question, in any file and process
	Kind    QuestionKind
	Tool    func(name string) bool // whose calls are asked
	Names   []string               // of arguments
	Pattern *regexp.Regexp
}

// Questions are what the files' SLOs ask of the arguments of tool calls.
func (s *Set) Questions() []Question {
	var all []Question
	for _, f := range s.Files {
		for i := range f.SLOs {
			o := &f.SLOs[i]
			switch o.SLI {
			case "handoff":
				for _, field := range o.Fields {
					all = append(all, Question{ID: field.Question(), Kind: AskField, Tool: o.TicketTool, Names: field.Arguments})
				}
			case "forbidden_actions":
				for _, a := range o.Actions {
					if a.Arguments != nil {
						all = append(all, Question{ID: a.Question(), Kind: AskPattern, Tool: func(name string) bool { return MatchGlob(a.Tool, name) }, Pattern: a.Arguments})
					}
				}
			case "duplicate_effects":
				if len(o.IdempotencyKeys) > 0 {
					all = append(all, Question{ID: o.KeyQuestion(), Kind: AskKey, Tool: f.WriteTool, Names: o.IdempotencyKeys})
				}
			}
		}
	}
	return all
}

// Question is the id of what the field asks.
func (f *Field) Question() uint32 { return questionID("field", f.Arguments...) }

// Question is the id of what the action asks, where it has a pattern.
func (a *Action) Question() uint32 { return questionID("pattern", a.Arguments.String()) }

// KeyQuestion is the id of the question for a call's idempotency key.
func (o *Objective) KeyQuestion() uint32 { return questionID("key", o.IdempotencyKeys...) }

func questionID(kind string, parts ...string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(kind))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return h.Sum32()
}

// TicketTool says whether a call of the tool hands the run to a person: it is
// in the SLO's ticket_tools, or in the built-in list, see [EscalationTool].
func (o *Objective) TicketTool(name string) bool {
	return matchAny(o.TicketTools, name) || EscalationTool(name)
}

// argumentNames reads names of arguments.
func (r *reader) argumentNames(n *yaml.Node, what, example string) []string {
	names, _ := r.texts(n, what, example, checkPrintable)
	return names
}

// fields reads what a ticket must say: name → arguments. No arguments stand for
// the built-in ones of that name.
func (r *reader) fields(n *yaml.Node, what string) []Field {
	const example = "{blocker: [reason], evidence: []}"
	entries, ok := r.entries(n, what, example)
	if ok && len(entries) == 0 {
		r.fault(n, "%s names no field, so that every ticket would do; leave it out for %s", what, strings.Join(builtinFields, ", "))
	}
	if len(entries) > maxFields {
		r.fault(n, "%s has at most %d fields", what, maxFields)
	}
	var fields []Field
	for _, e := range entries {
		if err := CheckName(e.key.Value); err != nil {
			r.fault(e.key, "%s: %q: %s", what, clip(e.key.Value), err)
		}
		f := Field{Name: e.key.Value}
		before := len(r.faults)
		f.Arguments = r.argumentNames(e.value, "the arguments of "+clip(f.Name), "[reason]")
		if len(f.Arguments) == 0 && len(r.faults) == before {
			i := slices.Index(builtinFields, f.Name)
			if i < 0 {
				r.fault(e.value, "%s: %s names no argument; only %s have built-in ones%s", what, clip(f.Name), strings.Join(builtinFields, ", "), didYouMean(f.Name, builtinFields))
				continue
			}
			f.Arguments = defaultFields[i].Arguments
		}
		fields = append(fields, f)
	}
	return fields
}

var builtinFields = func() (names []string) {
	for _, f := range defaultFields {
		names = append(names, f.Name)
	}
	return names
}()

const actionsExample = `[{tool: "read_*", arguments: '\.env|id_rsa'}]`

// actions reads what must not happen.
func (r *reader) actions(n *yaml.Node, what string) []Action {
	var actions []Action
	ok := r.list(n, what, actionsExample, func(item *yaml.Node) {
		a := Action{Tool: "*"}
		found := r.mapping(item, "an action", `{tool: "read_*", arguments: '\.env|id_rsa'}`, []key{
			{"tool", func(v *yaml.Node, what string) {
				if s, ok := r.text(v, what); ok {
					if err := checkGlob(s); err != nil {
						r.fault(v, "%s: %q: %s", what, clip(s), err)
					}
					a.Tool = s
				}
			}},
			{"arguments", func(v *yaml.Node, what string) { a.Arguments = r.pattern(v, what) }},
			{"max_calls", func(v *yaml.Node, what string) {
				if i, ok := r.integer(v, what, 0, maxCount); ok {
					a.MaxCalls = i
				}
			}},
		})
		_, tool := found["tool"]
		_, arguments := found["arguments"]
		if found != nil && !tool && !arguments {
			r.fault(item, "the action has neither tool nor arguments, so that every call would be one; write such as %s", `{tool: "read_*", arguments: '\.env|id_rsa'}`)
		}
		actions = append(actions, a)
	})
	switch count := len(r.resolve(n).Content); {
	case ok && count == 0:
		r.fault(n, "%s names no action; add one, such as %s", what, actionsExample)
	case ok && count > maxActions:
		r.fault(n, "%s has at most %d actions; one pattern can have several alternatives, a|b", what, maxActions)
	}
	return actions
}

// pattern reads an RE2 expression.
func (r *reader) pattern(n *yaml.Node, what string) *regexp.Regexp {
	s, ok := r.text(n, what)
	if !ok {
		return nil
	}
	if len(s) > maxPattern {
		r.fault(n, "%s has at most %d bytes", what, maxPattern)
		return nil
	}
	p, err := regexp.Compile(s)
	switch {
	case err != nil:
		r.fault(n, "%s: %s", what, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case p.MatchString(""):
		r.fault(n, "%s: %q is found in every text; say what it must hold", what, clip(s))
	default:
		return p
	}
	return nil
}

// effects finds SLOs about effects in a file that does not say which tools
// have any.
func (r *reader) effects(f *File) {
	for _, o := range f.SLOs {
		if o.SLI == "duplicate_effects" && len(f.Tools.Write) == 0 {
			r.faultAt(o.Line, o.Col, `SLO %s: the file says of no tool that it has effects; add them, such as tools: {write: ["refund_*"]}`, clip(o.Name))
		}
	}
}
