package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/util/annotations"
)

// errorType is what went wrong, as the API's clients know it.
type errorType struct {
	name   string
	status int
}

var (
	badData   = errorType{"bad_data", http.StatusBadRequest}
	execution = errorType{"execution", http.StatusUnprocessableEntity}
	canceled  = errorType{"canceled", 499} // the client closed the connection
	timeout   = errorType{"timeout", http.StatusServiceUnavailable}
	internal  = errorType{"internal", http.StatusInternalServerError}
	notFound  = errorType{"not_found", http.StatusNotFound}
)

type failure struct {
	kind errorType
	err  error
}

func invalid(parameter string, err error) *failure {
	return &failure{badData, fmt.Errorf("invalid parameter %q: %w", parameter, err)}
}

// reply is the data of a successful answer.
type reply struct {
	data     any
	notes    annotations.Annotations
	query    string // the notes' positions refer to it
	truncate bool   // a limit cut the data
}

// body is the envelope of every answer.
type body struct {
	Status    string          `json:"status"`
	Data      json.RawMessage `json:"data,omitempty"`
	ErrorType string          `json:"errorType,omitempty"`
	Error     string          `json:"error,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
	Infos     []string        `json:"infos,omitempty"`
}

type handler func(*http.Request) (*reply, *failure)

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ok, failed := h(r)
	if failed != nil {
		write(w, failed.kind.status, body{Status: "error", ErrorType: failed.kind.name, Error: failed.err.Error()})
		return
	}
	data, err := encode(ok.data)
	if err != nil {
		write(w, internal.status, body{Status: "error", ErrorType: internal.name, Error: err.Error()})
		return
	}
	if ok.truncate {
		ok.notes.Add(errors.New("results truncated due to limit"))
	}
	b := body{Status: "success", Data: data}
	b.Warnings, b.Infos = ok.notes.AsStrings(ok.query, 10, 10)
	write(w, http.StatusOK, b)
}

func write(w http.ResponseWriter, status int, b body) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(b) // a client that went away
}
