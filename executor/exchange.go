package executor

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/redact"
)

// RequestInfo is the request of a task.
type RequestInfo struct {
	Method   string      `json:"method,omitempty"`
	Endpoint string      `json:"endpoint,omitempty"` // its name, or URL
	Header   http.Header `json:"header,omitempty"`   // with secrets REDACTED
	Payload  string      `json:"payload,omitempty"`  // at most Config.Keep bytes
	Bytes    int         `json:"bytes"`              // of the whole payload
}

// ResponseInfo is the last response of a task.
type ResponseInfo struct {
	Status int         `json:"status,omitempty"` // HTTP
	Header http.Header `json:"header,omitempty"` // without cookies
	Body   string      `json:"body,omitempty"`   // at most Config.Keep bytes
	Bytes  int         `json:"bytes"`            // of the whole body
}

// request is what is kept of a request while the task is there.
type request struct {
	method, endpoint string
	header           http.Header // redacted
	payload          []byte      // or its beginning, if that is all that is shown
	bytes            int         // of the whole payload
	secrets          []string
}

func newRequest(method, endpoint string, h http.Header, payload []byte) *request {
	r := &request{method: method, endpoint: endpoint, payload: payload, bytes: len(payload), header: h.Clone()}
	sent := &http.Request{Header: h}
	switch u, err := url.Parse(endpoint); {
	case err == nil && (u.User != nil || u.RawQuery != ""):
		r.endpoint, sent.URL = redact.URL(u), u
	case err != nil && strings.ContainsAny(endpoint, "?@"): // it may contain credentials
		r.endpoint = redact.Mark
	}
	r.secrets = redact.Secrets(sent)
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
		Payload: excerpt(r.payload, r.bytes, r.secrets, keep), Bytes: r.bytes,
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
		switch http.CanonicalHeaderKey(name) {
		case "Set-Cookie", "Set-Cookie2", "Authorization", "Proxy-Authenticate", "Location":
			mark(values)
		default:
			for i, v := range values {
				values[i] = redact.Text(v, secrets)
			}
		}
	}
	return &ResponseInfo{Status: r.status, Header: h, Body: excerpt(r.body, r.bytes, secrets, keep), Bytes: r.bytes}
}

// excerpt returns the start of b with secrets removed. b is the start of a text of whole bytes. A secret that is truncated at
// the end of b is removed as well.
func excerpt(b []byte, whole int, secrets []string, keep int) string {
	b = head(b, secrets, keep)
	text := redact.Text(string(b), secrets)
	if len(b) < whole && len(secrets) > 0 {
		text = text[:max(0, len(text)-len(secrets[0])+1)]
	}
	return string(bytes.ToValidUTF8([]byte(text[:min(len(text), keep)]), nil))
}

// head is as much of b as has to be looked at to show keep bytes.
func head(b []byte, secrets []string, keep int) []byte {
	if len(secrets) > 0 {
		keep += min(len(secrets[0]), math.MaxInt-keep)
	}
	return b[:min(len(b), keep)]
}

// Respond sets Info.Response from inside a call. It is needed only for responses that
// are not in the error of the call; the last one counts. Outside a call it does nothing.
func Respond(ctx context.Context, status int, h http.Header, body []byte) {
	s := scopeOf(ctx)
	if s == nil {
		return
	}
	s.task().respond(status, h, body)
}

func (t *record) respond(status int, h http.Header, body []byte) {
	secrets := t.secrets()
	kept := &response{status, h.Clone(), slices.Clone(head(body, secrets, t.x.config.Keep)), len(body)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.life.state.Terminal() {
		t.more().response = kept
	}
}

// secrets returns the parts of the request that must not be repeated, the longest first.
func (t *record) secrets() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.extra == nil || t.extra.request == nil {
		return nil
	}
	return t.extra.request.secrets
}
