package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/headrace/headrace/presets/dialect"
)

// openAIError is also how most other providers write errors.
type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    Code    `json:"code"`
	} `json:"error"`
}

type anthropicError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Code    Code   `json:"code"`
	} `json:"error"`
}

type googleError struct {
	Error struct {
		Code    int          `json:"code"`
		Message string       `json:"message"`
		Status  string       `json:"status"`
		Details []googleInfo `json:"details"`
	} `json:"error"`
}

type googleInfo struct {
	Type   string `json:"@type"`
	Reason string `json:"reason"`
	Domain string `json:"domain"`
}

// body is a failure in the shape of the errors of d.
func (f *failure) body(d dialect.Name) []byte {
	text := "headrace: " + f.text
	var shaped any
	switch d {
	case dialect.Anthropic:
		e := anthropicError{Type: "error"}
		e.Error.Type, e.Error.Message, e.Error.Code = f.anthropicType(), text, f.code
		shaped = e
	case dialect.Gemini:
		e := googleError{}
		e.Error.Code, e.Error.Message, e.Error.Status = f.code.status(), text, f.googleStatus()
		e.Error.Details = []googleInfo{{
			Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: strings.ToUpper(string(f.code)), Domain: "headrace",
		}}
		shaped = e
	default:
		e := openAIError{}
		e.Error.Message, e.Error.Type, e.Error.Code = text, "headrace_error", f.code
		shaped = e
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(shaped) // of texts and numbers
	return bytes.TrimSpace(b.Bytes())
}

// anthropicType is one of https://docs.anthropic.com/en/api/errors.
func (f *failure) anthropicType() string {
	switch f.code.status() {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	default:
		return "api_error"
	}
}

// googleStatus is a code of https://cloud.google.com/apis/design/errors.
func (f *failure) googleStatus() string {
	switch f.code.status() {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return "UNAVAILABLE"
	default:
		return "INTERNAL"
	}
}

// write answers a request with f. h is ready to be sent with it.
func (f *failure) write(w http.ResponseWriter, d dialect.Name) {
	body := f.body(d)
	h := w.Header()
	f.headers(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.code.status())
	_, _ = w.Write(body) // a client that is gone reads nothing
}
