package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scenario is one course of a run: what the user asks, what the model replies
// turn by turn, and what the evaluators would say.
type scenario struct {
	name     string
	question string
	turns    []turn // the last one repeats
	// outcome is how the run truly ends.
	outcome string
	// correctness and groundedness are the evaluators' scores of the answer;
	// nil where there is no answer to judge.
	correctness, groundedness *float64
	cancel                    bool // the caller goes away during the last turn
}

// turn is one reply of the scripted model.
type turn struct {
	text   string
	calls  []call
	finish string // default: stop, or tool_calls
	status int    // HTTP status; 0 is 200
	usage  tokens // zero: made up from the conversation's length
}

type call struct {
	tool, arguments string
}

func score(x float64) *float64 { return &x }

func order(id string) call {
	return call{"get_order_status", fmt.Sprintf(`{"order_id":%q}`, id)}
}

const shipped = "Order A-1001 has shipped with DHL and should arrive on 4 March 2026."

// scenarios are all courses that the script may name.
var scenarios = []scenario{
	{name: "ok", question: "Where is my order A-1001?", outcome: "answered", correctness: score(0.95), groundedness: score(0.97),
		turns: []turn{{calls: []call{order("A-1001")}}, {text: shipped}}},
	{name: "rag", question: "Can I return worn shoes?", outcome: "answered", correctness: score(0.9), groundedness: score(0.93),
		turns: []turn{{calls: []call{{"search_docs", `{"query":"return policy worn shoes"}`}}},
			{text: "You can return shoes within 30 days if they are unworn, so worn shoes cannot be returned."}}},
	{name: "refund", question: "Please refund order A-1001.", outcome: "answered", correctness: score(0.92), groundedness: score(0.95),
		turns: []turn{{calls: []call{order("A-1001")}}, {calls: []call{{"refund_order", `{"order_id":"A-1001"}`}}},
			{text: "I have refunded 49.90 EUR for order A-1001."}}},
	{name: "parallel", question: "Where are my orders A-1001, A-1002 and A-1003?", outcome: "answered", correctness: score(0.94), groundedness: score(0.96),
		turns: []turn{{calls: []call{order("A-1001"), order("A-1002"), order("A-1003")}},
			{text: "All three orders have shipped with DHL and should arrive on 4 March 2026."}}},
	{name: "recovered", question: "Where is my order 1001?", outcome: "answered", correctness: score(0.95), groundedness: score(0.95),
		turns: []turn{{calls: []call{order("1001")}}, {calls: []call{order("A-1001")}}, {text: shipped}}},
	{name: "tool_free", question: "Where is my order A-1001?", outcome: "answered", correctness: score(0.2), groundedness: score(0.1),
		turns: []turn{{text: "Your order A-1001 is on its way and will arrive tomorrow."}}},
	{name: "tool_failed", question: "Where is my order A-3003?", outcome: "answered", correctness: score(0.2), groundedness: score(0.1),
		turns: []turn{{calls: []call{order("A-3003")}}, {calls: []call{order("A-3004")}},
			{text: "Your order A-3003 has shipped and should arrive within two days."}}},
	{name: "wrong", question: "Can I return worn shoes?", outcome: "answered", correctness: score(0.3), groundedness: score(0.9),
		turns: []turn{{calls: []call{{"search_docs", `{"query":"return policy worn shoes"}`}}},
			{text: "You can return shoes within 30 days. Refunds take five days."}}},
	{name: "ungrounded", question: "Can I return worn shoes?", outcome: "answered", correctness: score(0.2), groundedness: score(0.2),
		turns: []turn{{calls: []call{{"search_docs", `{"query":"return policy worn shoes"}`}}},
			{text: "Yes, you can return shoes within 90 days, even when worn."}}},
	{name: "loop", question: "Has order A-2002 shipped yet?", outcome: "limit_reached",
		turns: []turn{{calls: []call{order("A-2002")}}}},
	{name: "polling", question: "Tell me when order A-4004 has shipped.", outcome: "answered", correctness: score(0.93), groundedness: score(0.94),
		turns: []turn{{calls: []call{order("A-4004")}}, {calls: []call{order("A-4004")}}, {calls: []call{order("A-4004")}},
			{text: "Order A-4004 has just shipped with DHL."}}},
	{name: "truncated", question: "Explain the whole returns process.", outcome: "limit_reached",
		turns: []turn{{calls: []call{{"search_docs", `{"query":"returns process"}`}}},
			{text: "To return an item, first open your order, then", finish: "length"}}},
	{name: "error", question: "Where is my order A-1001?", outcome: "error",
		turns: []turn{{status: 500}}},
	{name: "error_after_tool", question: "Where is my order A-1001?", outcome: "error",
		turns: []turn{{calls: []call{order("A-1001")}}, {status: 500}}},
	{name: "escalated", question: "I want to speak to a person.", outcome: "escalated",
		turns: []turn{{calls: []call{{"escalate_to_human", `{"reason":"the customer asks for a person"}`}}}}},
	{name: "cancelled", question: "Where is my order A-1001?", outcome: "cancelled", cancel: true,
		turns: []turn{{calls: []call{order("A-1001")}}, {text: shipped}}},
	{name: "slow", question: "Where is my order A-8008?", outcome: "answered", correctness: score(0.95), groundedness: score(0.97),
		turns: []turn{{calls: []call{order("A-8008")}}, {text: "Order A-8008 has shipped with DHL."}}},
	{name: "expensive", question: "Summarise everything we ever wrote about returns.", outcome: "answered", correctness: score(0.9), groundedness: score(0.92),
		turns: []turn{{calls: []call{{"search_docs", `{"query":"returns"}`}}, usage: tokens{Input: 180_000, Output: 40}},
			{text: "Returns are free within 30 days if the item is unworn; refunds take five days.", usage: tokens{Input: 190_000, CachedInput: 1024, Output: 900, Reasoning: 640}}}},
	{name: "subagent", question: "Where is my order A-1001?", outcome: "answered", correctness: score(0.95), groundedness: score(0.97),
		turns: []turn{{calls: []call{{"ask_orders_agent", `{"question":"Where is order A-1001?"}`}}}, {text: shipped}}},
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return names
}

func findScenario(name string) (scenario, bool) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return scenario{}, false
	}
	return scenarios[i], true
}

// parseScript reads "ok:17,loop" as seventeen runs of ok and one of loop; a
// bare number is that many of ok.
func parseScript(text string) ([]scenario, error) {
	var script []scenario
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, times, found := strings.Cut(part, ":")
		if _, err := strconv.Atoi(name); err == nil && !found {
			name, times, found = "ok", name, true
		}
		n := 1
		if found {
			var err error
			if n, err = strconv.Atoi(times); err != nil || n < 0 {
				return nil, fmt.Errorf("%q: want SCENARIO:TIMES", part)
			}
		}
		s, ok := findScenario(name)
		if !ok {
			return nil, fmt.Errorf("no scenario %q; there are %s", name, strings.Join(scenarioNames(), ", "))
		}
		for range n {
			script = append(script, s)
		}
	}
	return script, nil
}
