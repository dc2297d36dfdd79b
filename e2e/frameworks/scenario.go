package frameworks

// Scenario is one course of a run: what the user asks, what the scripted model
// replies call by call, and how the application goes about it. Its name is a
// row of truth.Scenarios, which says what a run of it is.
type Scenario struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	// Replies of the model in order of its calls; the last one repeats.
	Replies []Reply `json:"-"`

	Stream bool `json:"stream,omitempty"`
	// AbortAfter that many characters of the streamed answer the application
	// goes away; 0: it stays.
	AbortAfter int `json:"abort_after,omitempty"`
	// MaxSteps is how many model calls the framework may make.
	MaxSteps int `json:"max_steps"`
	// Scores that a judge sends after the run, by name of the evaluation.
	Scores map[string]float64 `json:"scores,omitempty"`
}

// Reply is one answer of the model: text, or calls of tools.
type Reply struct {
	Text  string
	Calls []Call
	// HandOff: the reply asks for the framework's own way to give the work to
	// another agent.
	HandOff bool
}

// Call is a tool call that the model asks for.
type Call struct {
	Tool      string
	Arguments map[string]string
}

func order(id string) Reply {
	return Reply{Calls: []Call{{"get_order_status", map[string]string{"order_id": id}}}}
}

const (
	shipped = "Order A-1001 has shipped with DHL and should arrive on 4 March 2026."
	where   = "Where is my order A-1001?"
	returns = "Shoes can be returned within 30 days if unworn."
)

// Scenarios that the agents run. An agent whose framework knows no hand-off
// between agents runs subagent instead, one whose framework has retrievers of
// its own rag-plain instead of rag.
var Scenarios = []Scenario{
	{Name: "ok-tool", Question: where, Replies: []Reply{order("A-1001"), {Text: shipped}}},
	{Name: "tool-error-recovered", Question: "Where is my order 1001?", Replies: []Reply{order("1001"), order("A-1001"), {Text: shipped}}},
	{Name: "tool-all-failed-answer", Question: "Where is my order A-3003?",
		Replies: []Reply{order("A-3003"), order("A-3004"), {Text: "Your order A-3003 was delivered yesterday at 14:05."}}},
	{Name: "loop-then-answer", Question: "Has order A-2002 shipped yet?",
		Replies: []Reply{order("A-2002"), order("A-2002"), order("A-2002"), order("A-2002"), {Text: "Order A-2002 is still pending."}}},
	// Every call brings something new; it is the limit alone that ends the run.
	{Name: "limit", Question: "Which of my orders have shipped?", MaxSteps: 4,
		Replies: []Reply{order("A-1001"), order("A-1002"), order("A-1003"), order("A-1004"), order("A-1005"), order("A-1006")}},
	{Name: "handoff", Question: where, Replies: []Reply{{HandOff: true}, order("A-1001"), {Text: shipped}}},
	{Name: "subagent", Question: where,
		Replies: []Reply{{HandOff: true}, order("A-1001"), {Text: shipped}, {Text: "The orders team says: A-1001 shipped with DHL, due 4 March 2026."}}},
	{Name: "rag", Question: "Can I return shoes?",
		Replies: []Reply{{Calls: []Call{{"search_docs", map[string]string{"query": "return period for shoes"}}}}, {Text: returns}}},
	{Name: "rag-plain", Question: "Can I return shoes?", Replies: []Reply{{Text: returns}}},
	{Name: "streaming", Question: where, Stream: true, Replies: []Reply{order("A-1001"), {Text: shipped}}},
	{Name: "aborted", Question: where, Stream: true, AbortAfter: 20, Replies: []Reply{order("A-1001"), {Text: shipped + " " + shipped + " " + shipped}}},
	// The right order and date, but a claim that no tool has made.
	{Name: "late-evaluation", Question: where, Scores: map[string]float64{"correctness": 0.9, "groundedness": 0.3},
		Replies: []Reply{order("A-1001"), {Text: shipped + " Shipping was free of charge."}}},
}

// steps that a run may take where its scenario sets no limit.
const steps = 10
