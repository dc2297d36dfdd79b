package convention

import "strings"

// scope is what an instrumentation scope's name says of its spans.
type scope struct {
	emits uint32 // vocabularies
	known bool   // it instruments agents or models
	// exclusive: its input token counts leave out cached tokens.
	exclusive bool
	store     bool // it instruments a client of a vector store
	client    bool // it instruments a model client and nothing round it
}

var unknownScope = &scope{}

// otherScopes instrument agents or models and have no vocabulary of their own.
var otherScopes = []string{
	"opentelemetry.instrumentation.openai*", "opentelemetry.instrumentation.anthropic*",
	"opentelemetry.instrumentation.langchain*", "opentelemetry.instrumentation.crewai*",
	"opentelemetry.instrumentation.bedrock*", "opentelemetry.instrumentation.vertexai*",
	"opentelemetry.instrumentation.google_genai*", "opentelemetry.instrumentation.google_generativeai*",
	"opentelemetry.instrumentation.llamaindex*", "opentelemetry.instrumentation.mistralai*",
	"opentelemetry.instrumentation.cohere*", "opentelemetry.instrumentation.ollama*",
	"opentelemetry.instrumentation.groq*", "opentelemetry.instrumentation.together*",
	"opentelemetry.instrumentation.mcp*", "opentelemetry.instrumentation.agno*",
	"opentelemetry.instrumentation.haystack*", "opentelemetry.instrumentation.genai*",
	"opentelemetry.util.genai*", "@opentelemetry/instrumentation-openai*",
	"autogen-core*", "autogen *",
	"Microsoft.Extensions.AI*", "Experimental.Microsoft.Extensions.AI*", "Microsoft.SemanticKernel*", "semantic_kernel*",
	"crewAI*", "crewai*", "openlit*", "haystack*", "langwatch*",
	"com.anthropic.*", "codex*", "github.copilot*",
}

// exclusiveScopes report input tokens without the cached ones.
var exclusiveScopes = []string{
	"openinference.instrumentation.claude_agent_sdk*", "@arizeai/openinference-instrumentation-claude-agent-sdk*",
}

func matchScope(pattern, name string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, p)
	}
	return pattern == name
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchScope(p, name) {
			return true
		}
	}
	return false
}

// readScope decides what a scope's name says.
func readScope(name string) scope {
	var s scope
	if name == "" {
		return s
	}
	for id, v := range vocabularies {
		if matchAny(v.scopes, name) {
			s.emits |= 1 << id
			s.known = true
		}
	}
	s.known = s.known || matchAny(otherScopes, name)
	s.exclusive = matchAny(exclusiveScopes, name)
	s.store = matchAny(storeScopes, name)
	s.client = matchAny(clientScopes, name)
	return s
}

// scopeCache keeps the decisions for the few scopes that a stream has.
type scopeCache [16]struct {
	name  string
	scope scope
}

func (c *scopeCache) find(name string) *scope {
	if name == "" {
		return unknownScope
	}
	n := uint(len(name))
	e := &c[(n*7+uint(name[n-1])+uint(name[n/2])*3)%uint(len(c))]
	if e.name != name {
		e.name, e.scope = strings.Clone(name), readScope(name)
	}
	return &e.scope
}
