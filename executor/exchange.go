package executor

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/headrace/headrace/internal/redact"
)

// RequestInfo is what a task was going to send.
type RequestInfo struct {
	Method   string      `json:"method,omitempty"`
	Endpoint string      `json:"endpoint,omitempty"` // its name, or a URL without secrets
	Header   http.Header `json:"header,omitempty"`   // the values that may be secret are REDACTED
	Payload  string      `json:"payload,omitempty"`  // at most Config.Keep bytes
	Bytes    int         `json:"bytes"`              // of the whole payload
}

// ResponseInfo is what came back.
type ResponseInfo struct {
	Status int         `json:"status,omitempty"` // of HTTP
	Header http.Header `json:"header,omitempty"` // without cookies
	Body   string      `json:"body,omitempty"`   // at most Config.Keep bytes
	Bytes  int         `json:"bytes"`            // of the whole body
}

// request is what is kept of a request while the task is there.
type request struct {
	method, endpoint string
	header           http.Header // redacted
	payload          []byte
	secrets          []string
}

func newRequest(method, endpoint string, h http.Header, payload []byte) *request {
	r := &request{method: method, endpoint: endpoint, payload: payload, secrets: redact.Secrets(&http.Request{Header: h})}
	r.header = h.Clone()
	for name, values := range r.header {
		if !redact.Harmless(name) {
			mark(values)
		}
	}
	return r
}

func mark(values []string) {
	for i := range values {
		values[i] = redact.Mark
	}
}

func (r *request) info(keep int) *RequestInfo {
	return &RequestInfo{
		Method: r.method, Endpoint: redact.Text(r.endpoint, r.secrets), Header: r.header.Clone(),
		Payload: excerpt(r.payload, r.secrets, keep), Bytes: len(r.payload),
	}
}

// response is what is kept of an answer.
type response struct {
	status int
	header http.Header
	body   []byte
	bytes  int
}

func (r *response) info(secrets []string, keep int) *ResponseInfo {
	h := r.header.Clone()
	for name, values := range h {
		switch name {
		case "Set-Cookie", "Set-Cookie2", "Authorization", "Proxy-Authenticate", "Location":
			mark(values)
		default:
			for i, v := range values {
				values[i] = redact.Text(v, secrets)
			}
		}
	}
	return &ResponseInfo{Status: r.status, Header: h, Body: excerpt(r.body, secrets, keep), Bytes: r.bytes}
}

// excerpt is the beginning of b without the secrets. One that is cut off at the end
// does not show its beginning.
func excerpt(b []byte, secrets []string, keep int) string {
	longest := 0
	if len(secrets) > 0 {
		longest = len(secrets[0])
	}
	text := redact.Text(string(b[:min(len(b), keep+longest)]), secrets)
	return string(bytes.ToValidUTF8([]byte(text[:min(len(text), keep)]), nil))
}

// Respond puts into the Info of the task what was answered, from inside its
// call: the status, a copy of the header and of the first bytes of the body. An
// error that carries an answer, such as those of package httpclient and of the SDKs, says it by
// itself. The last word counts. Outside of a call it does nothing.
func Respond(ctx context.Context, status int, h http.Header, body []byte) {
	s := scopeOf(ctx)
	if s == nil {
		return
	}
	s.of.respond(status, h, body)
}

func (t *record) respond(status int, h http.Header, body []byte) {
	longest := 0
	if e := t.extra; e != nil && e.request != nil && len(e.request.secrets) > 0 {
		longest = len(e.request.secrets[0])
	}
	kept := &response{status, h.Clone(), slices.Clone(body[:min(len(body), t.x.config.Keep+longest)]), len(body)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.life.state.Terminal() {
		t.more().response = kept
	}
}
