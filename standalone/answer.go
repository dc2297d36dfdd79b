package standalone

import (
	"bytes"
	"io"
	"net/http"
	neturl "net/url"
)

// answer is a response that is kept in memory.
type answer struct {
	request *http.Request
	status  int
	header  http.Header
	body    bytes.Buffer
}

func newAnswer(r *http.Request) *answer {
	return &answer{request: r, status: http.StatusOK, header: http.Header{}}
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *answer) WriteHeader(status int)      { a.status = status }

func (a *answer) response() *http.Response {
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body.Bytes())), ContentLength: int64(a.body.Len()), Request: a.request,
	}
}

func escape(query string) string { return neturl.QueryEscape(query) }
