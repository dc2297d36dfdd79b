package slo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// Values of the keys that the kinds about failures have, of which parser and
// schema must say the same.
func TestSchemaAgreesOnTheKindsAboutFailures(t *testing.T) {
	s, _ := schema(t)
	counts := []string{"0", "1", "2", "-1", "2.5", "'5'", "x", "~", "1000000", "1000001"}
	for template, values := range map[string][]string{
		"slos: {retry_discipline: {objective: 99%%, max_retries: %s}}":       counts,
		"slos: {stuck_after_blocker: {objective: 99%%, max_steps: %s}}":      counts,
		"slos: {stuck_after_blocker: {objective: 99%%, max_usd: %s}}":        {"1", "0", "0.25", "-1", "'1'", "x", "~"},
		"slos: {duplicate_effects: {objective: 99%%, idempotency_keys: %s}}": {"[]", "[a]", "[a, b]", "[a, a]", "a", "~", "{}", "[1]", "[' a']", "[a b]"},
		"slos: {handoff: {objective: 99%%, ticket_tools: %s}}":               {"[]", "[a]", "['open_*']", "[a, a]", "a", "~", `['[a]']`},
		"slos: {handoff: {objective: 99%%, fields: %s}}": {"{}", "[]", "~", "{blocker: []}", "{blocker: [why], summary: [text]}", "{summary: []}",
			"{blocker: why}", "{blocker: [a, a]}", "{'a b': [x]}", "{blocker: [' x']}", many(20), many(21)},
		"slos: {forbidden_actions: {objective: 99%%, actions: %s}}": {"[]", "~", "{}", "[a]", "[{}]", "[{tool: a}]", "[{arguments: x}]",
			"[{tool: a, arguments: x, max_calls: 2}]", "[{max_calls: 2}]", "[{tool: a, max_calls: -1}]", "[{tool: '[a]'}]", "[{tool: 5}]", "[{arguments: ''}]",
			"[{arguments: " + strings.Repeat("a", 1000) + "}]", "[{arguments: " + strings.Repeat("a", 1001) + "}]",
			"[" + strings.Repeat("{tool: a}, ", 100) + "]", "[" + strings.Repeat("{tool: a}, ", 101) + "]"},
	} {
		for _, value := range values {
			text := fmt.Sprintf("service: a\ntools: {write: [refund]}\n"+template, value)
			_, parserSays := slo.Parse("x", []byte(text))
			schemaSays := s.Validate(documents(t, []byte(text))[0])
			if (parserSays == nil) != (schemaSays == nil) {
				t.Errorf("%s\nparser: %v\nschema: %v", text, parserSays, schemaSays)
			}
		}
	}
}

// many is a mapping with n fields.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: [a], ", i)
	}
	return "{" + b.String() + "}"
}

func TestDefaultsOfTheKindsAboutFailures(t *testing.T) {
	files, err := slo.Parse("x", []byte(`
service: a
tools: {write: ["refund_*"]}
slos:
  retry_discipline: {objective: 99%}
  duplicate_effects: {objective: 99%}
  stuck_after_blocker: {objective: 99%}
  handoff: {objective: 99%, fields: {blocker: [], proof: [screenshot]}, ticket_tools: [open_ticket]}
  forbidden_actions: {objective: 99%, actions: [{tool: drop}, {arguments: '\.env'}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	get := files[0].Objective
	handoff, forbidden := get("handoff"), get("forbidden_actions")
	for what, ok := range map[string]bool{
		"two retries":                        get("retry_discipline").MaxRetries == 2,
		"ten steps, any money":               get("stuck_after_blocker").MaxSteps == 10 && get("stuck_after_blocker").MaxUSD.IsZero(),
		"keys of services":                   len(get("duplicate_effects").IdempotencyKeys) > 3,
		"built-in names of a built-in field": len(handoff.Fields) == 2 && len(handoff.Fields[0].Arguments) > 3,
		"a field of the file's own":          handoff.Fields[1].Name == "proof" && handoff.Fields[1].Arguments[0] == "screenshot",
		"hand-over tools":                    handoff.TicketTool("open_ticket") && handoff.TicketTool("escalate_to_human") && !handoff.TicketTool("search"),
		"any arguments":                      forbidden.Actions[0].Arguments == nil && forbidden.Actions[0].MaxCalls == 0,
		"any tool":                           forbidden.Actions[1].Tool == "*" && forbidden.Actions[1].Arguments.MatchString("cat .env"),
	} {
		if !ok {
			t.Errorf("%s: not as documented", what)
		}
	}
}

// What is asked of arguments is asked of the tools concerned only, and the same
// question has the same id wherever it is asked.
func TestQuestions(t *testing.T) {
	parse := func(text string) *slo.Set {
		files, err := slo.Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return &slo.Set{Files: files}
	}
	if q := parse("service: a\nslos: {retry_discipline: {objective: 99%}, completion: {objective: 99%}}").Questions(); len(q) != 0 {
		t.Errorf("%d questions of a file that asks nothing of arguments", len(q))
	}
	const file = `
service: %s
agents: [%[1]s]
tools: {write: ["refund_*"]}
slos:
  duplicate_effects: {objective: 99%%}
  handoff: {objective: 99%%, ticket_tools: [open_ticket], fields: {blocker: [why]}}
  forbidden_actions: {objective: 99%%, actions: [{tool: "read_*", arguments: id_rsa}, {tool: drop}]}
`
	set := parse(fmt.Sprintf(file, "a") + "---" + fmt.Sprintf(file, "b"))
	questions := set.Questions()
	if len(questions) != 6 {
		t.Fatalf("%d questions, want a key, a field and a pattern of each file", len(questions))
	}
	want := []string{"refund_order", "open_ticket", "read_file"}
	for i, q := range questions {
		for _, tool := range append(want, "search", "drop") {
			if asked := q.Tool(tool); asked != (tool == want[i%3]) {
				t.Errorf("question %d is asked of %s: %v", i, tool, asked)
			}
		}
		if q.ID != questions[i%3].ID || q.ID == questions[(i+1)%3].ID {
			t.Errorf("question %d has id %d", i, q.ID)
		}
	}
}
