package frameworks

import (
	"fmt"
	"net/http"
	"strings"
)

// gemini is Google's generateContent, whole or as a stream.
func (w *World) gemini(rw http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	streamed := method == "streamGenerateContent"
	n, reply, served := w.next()
	answer := func(parts []object, finish bool) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish {
			candidate["finishReason"] = "STOP"
		}
		usage := object{"promptTokenCount": served.In, "candidatesTokenCount": served.Out - served.Reasoning, "totalTokenCount": served.In + served.Out}
		if served.Cached > 0 {
			usage["cachedContentTokenCount"] = served.Cached
		}
		if served.Reasoning > 0 {
			usage["thoughtsTokenCount"] = served.Reasoning
		}
		return object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": model, "responseId": fmt.Sprintf("resp-%d", n+1)}
	}
	var parts []object
	for i, c := range reply.Calls {
		parts = append(parts, object{"functionCall": object{"id": callID(n, i), "name": c.Tool, "args": c.Arguments}})
	}
	if !streamed {
		if parts == nil {
			parts = []object{{"text": reply.Text}}
		}
		respond(rw, http.StatusOK, answer(parts, true))
		return
	}
	s := w.stream(rw, r)
	if parts != nil {
		s.event("", answer(parts, true))
		return
	}
	all := words(reply.Text)
	for i, word := range all {
		s.event("", answer([]object{{"text": word}}, i == len(all)-1))
		s.spoke(word)
	}
}
