package processor

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// emitters that are read. Each has a run among testdata/emitters.txt.
var emitters = []string{
	"OTel GenAI", "OTel GenAI, deprecated", "OTel's packages",
	"OpenInference", "OpenLLMetry",
	"Vercel AI SDK v3", "Vercel AI SDK v4", "Vercel AI SDK v5", "Vercel AI SDK v6", "Vercel AI SDK v7",
	"Langfuse", "LangSmith", "Pydantic AI", "Logfire",
	"Microsoft Agent Framework", "Semantic Kernel", "AutoGen",
	"Google ADK", "Google ADK for Python, version 1", "Google ADK for Python, version 2", "Google ADK for Go",
	"Strands", "Bedrock AgentCore",
	"CrewAI, by OpenLLMetry", "CrewAI, by OpenInference",
	"OpenAI Agents SDK, by OpenLLMetry", "OpenAI Agents SDK, by Logfire", "OpenAI Agents SDK, by ADOT",
	"smolagents", "LangGraph, by OpenLLMetry", "Mastra", "MLflow",
	"Claude Code", "Claude API and SDK", "Codex", "Copilot CLI", "Gemini CLI", "MCP client and server", "any-agent and openlit",
	"Spring AI", "Microsoft.Extensions.AI", "AgentOps", "LangWatch", "Braintrust",
}

func TestEmitters(t *testing.T) {
	text, err := os.ReadFile("testdata/emitters.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, c := range parseHostile(string(text)) {
		emitter, _, _ := strings.Cut(c.name, ": ")
		if !slices.Contains(emitters, emitter) {
			t.Errorf("%q is of no emitter of the list", c.name)
		}
		shown[emitter] = true
		t.Run(c.name, c.testAll)
	}
	for _, name := range emitters {
		if !shown[name] {
			t.Errorf("no telemetry of %s", name)
		}
	}
}
