package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// messageLine is one of the results of Anthropic's Message Batches:
// https://platform.claude.com/docs/en/api/messages/batches/results.
type messageLine struct {
	CustomID string        `json:"custom_id"`
	Result   messageResult `json:"result"`
}

type messageResult struct {
	Type    string          `json:"type"`
	Message json.RawMessage `json:"message,omitempty"` // of one that succeeded
	Error   *messageError   `json:"error,omitempty"`   // of one that errored
}

// messageError is the body of each error of Anthropic's API: https://platform.claude.com/docs/en/api/errors.
type messageError struct {
	Type      string          `json:"type"`
	Error     json.RawMessage `json:"error"`
	RequestID *string         `json:"request_id"`
}

func anthropicLine(r *Result, failed bool) messageLine {
	l := messageLine{CustomID: r.In.ID}
	if failed {
		l.Result = messageResult{Type: "errored", Error: messageErrorOf(FailureOf(r.Err))}
	} else {
		l.Result = messageResult{Type: "succeeded", Message: json.RawMessage(orNull(r.Out.Body))}
	}
	return l
}

// messageErrorOf returns the provider's error, or else one in the same format.
func messageErrorOf(f *RequestError) *messageError {
	var body messageError
	e := &messageError{Type: "error"}
	id := f.RequestID
	if json.Unmarshal([]byte(f.Text), &body) == nil && body.Type == e.Type && len(body.Error) > 0 && body.Error[0] == '{' {
		e.Error = body.Error
		if body.RequestID != nil {
			id = *body.RequestID
		}
	} else {
		text := f.Message
		if f.Line > 0 {
			text = fmt.Sprintf("line %d: %s", f.Line, text)
		}
		e.Error = json.RawMessage(encode(struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}{messageErrorType(f), text}))
	}
	if id != "" {
		e.RequestID = &id
	}
	return e
}

// messageErrorType returns Anthropic's error type for a failure that has no type.
func messageErrorType(f *RequestError) string {
	switch f.Code {
	case BadLine, TooLarge:
		return "invalid_request_error"
	case Network, Internal, NotJSON, TooLong:
		return "api_error"
	}
	kind := map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusPaymentRequired: "billing_error",
		http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusGatewayTimeout: "timeout_error", 529: "overloaded_error",
	}[f.StatusCode]
	if f.StatusCode/100 == 4 {
		return cmp.Or(kind, "invalid_request_error")
	}
	return cmp.Or(kind, "api_error")
}
