package convention

import "testing"

// An object is generated without tools; where it is the arguments of a made-up
// one, the finish reason still says tool calls.
func TestVercelObjects(t *testing.T) {
	root := a{"ai.operationId": "ai.generateObject", "ai.response.finishReason": "tool-calls", "ai.response.object": `{"role":"user"}`}
	call := a{"ai.operationId": "ai.streamObject.doStream", "ai.response.finishReason": "tool-calls", "ai.response.object": `{"name":"x","type":"tool_call"}`}
	for _, c := range []struct {
		why    string
		made   made
		kind   Kind
		finish Finish
		output bool
	}{
		{"root", made{scope: "ai", attributes: root}, Agent, FinishStop, true},
		{"call", made{scope: "ai", attributes: call}, Model, FinishStop, true},
		{"content off", made{scope: "ai", attributes: a{"ai.operationId": "ai.generateObject.doGenerate", "ai.response.finishReason": "tool-calls"}},
			Model, FinishStop, false},
		{"cut", made{scope: "ai", attributes: a{"ai.operationId": "ai.streamObject.doStream", "ai.response.finishReason": "length",
			"ai.response.object": `{}`}}, Model, FinishLength, false},
		{"text may call tools", made{scope: "ai", attributes: a{"ai.operationId": "ai.generateText", "ai.response.finishReason": "tool-calls",
			"ai.response.text": "one moment"}}, Agent, FinishTool, false},
	} {
		f := c.made.facts(t)
		if f.Kind != c.kind || f.Finish != c.finish || f.HasOutput != c.output || f.AsksTool || len(f.Asked) > 0 || f.ToolsOffered == 2 && f.Finish == FinishStop {
			t.Errorf("%s: kind %v finish %v output %v asks %v asked %v offered %d", c.why, f.Kind, f.Finish, f.HasOutput, f.AsksTool, f.Asked, f.ToolsOffered)
		}
	}
}
