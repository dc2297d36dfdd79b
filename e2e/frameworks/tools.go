package frameworks

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/agentslo/agentslo/truth"
)

// tool runs a tool and writes down how it ended. A failure is an HTTP error
// whose body is the message that the program's tool throws.
func (w *World) tool(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("tool")
	body, err := io.ReadAll(r.Body)
	var arguments map[string]string
	if err == nil {
		err = json.Unmarshal(body, &arguments)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		w.telemetry.fault(err)
		return
	}
	status, result := http.StatusOK, any(nil)
	switch name {
	case "get_order_status":
		status, result = orderStatus(arguments["order_id"])
	case "search_docs", "retrieve":
		status, result = http.StatusOK, documents
	default:
		status, result = http.StatusNotFound, "no such tool"
	}
	call := truth.ToolCall{Tool: name, Args: json.RawMessage(jsonText(arguments)), OK: status == http.StatusOK}
	if call.OK {
		call.Result = json.RawMessage(jsonText(result))
	} else {
		call.Error = result.(string)
	}
	w.mu.Lock()
	if name != "retrieve" { // the framework's own retriever is no tool
		w.tools = append(w.tools, call)
	}
	w.mu.Unlock()
	if !call.OK {
		rw.WriteHeader(status)
		io.WriteString(rw, call.Error) //nolint:errcheck // the client may have gone
		return
	}
	respond(rw, status, result)
}

var (
	orderID   = regexp.MustCompile(`^A-\d{4}$`)
	documents = []object{
		{"id": "doc-17", "text": "Shoes can be returned within 30 days if unworn."},
		{"id": "doc-22", "text": "Refunds are paid within 5 days."},
	}
)

// orderStatus knows fixed facts; two orders cannot be looked up.
func orderStatus(id string) (status int, result any) {
	time.Sleep(50 * time.Millisecond)
	switch {
	case !orderID.MatchString(id):
		return http.StatusBadRequest, `invalid order id "` + id + `": want A-0000`
	case id == "A-3003":
		return http.StatusGatewayTimeout, "order service: timed out after 50ms"
	case id == "A-3004":
		return http.StatusBadGateway, "order service: HTTP 500 Internal Server Error"
	case id == "A-2002":
		return http.StatusOK, object{"order_id": id, "status": "pending"}
	}
	return http.StatusOK, object{"order_id": id, "status": "shipped", "carrier": "DHL", "eta": "2026-03-04"}
}
