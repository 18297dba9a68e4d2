package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// cause is why a request failed. It says the same in every dialect.
type cause uint8

const (
	badRequest      cause = iota
	tooManyRequests       // over Limits.Rate or Limits.Window
	tooManyTokens         // over a limit on tokens
	tooManyInFlight       // over Limits.Concurrency
	tooLarge              // over what a limit on tokens ever holds
	moneyGone             // no retry will cure it
	overloaded            // the provider as a whole is full
	serverFault
)

// status is what OpenAI sends.
func (c cause) status() int {
	switch c {
	case tooManyRequests, tooManyTokens, tooManyInFlight, tooLarge, moneyGone:
		return http.StatusTooManyRequests
	case overloaded:
		return http.StatusServiceUnavailable
	case serverFault:
		return http.StatusInternalServerError
	case badRequest:
	}
	return http.StatusBadRequest
}

// failure is an error, worded as OpenAI does. Other dialects word it anew.
type failure struct {
	status  int
	cause   cause
	kind    string // error.type
	code    string // error.code; null when empty
	param   string // error.param; null when empty
	message string
}

// MarshalJSON writes {"error": {...}}.
func (f *failure) MarshalJSON() ([]byte, error) {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return json.Marshal(map[string]body{
		"error": {Message: f.message, Type: f.kind, Param: orNull(f.param), Code: orNull(f.code)},
	})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func invalid(param, message string) *failure {
	return &failure{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, message: message}
}

func unknownRoute(r *http.Request) *failure {
	return &failure{
		status: http.StatusNotFound, kind: "invalid_request_error", code: "unknown_url",
		message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
	}
}

func wrongMethod(r *http.Request) *failure {
	return &failure{
		status: http.StatusMethodNotAllowed, kind: "invalid_request_error", code: "method_not_supported",
		message: fmt.Sprintf("Not allowed to %s on %s (HINT: Perhaps you meant to make a POST request?)", r.Method, r.URL.Path),
	}
}

func bodyTooLarge(limit int64) *failure {
	return &failure{
		status: http.StatusRequestEntityTooLarge, kind: "invalid_request_error", code: "request_too_large",
		message: fmt.Sprintf("The request body is larger than %d bytes.", limit),
	}
}

// serverError is the failure of a server that is closed, or that has a Reply, Fault or Latency that panicked.
func serverError(status int, message string) *failure {
	return &failure{status: status, cause: serverFault, kind: "server_error", message: message}
}

// errClosed is the answer of a server that is closed.
func errClosed() *failure {
	return serverError(http.StatusServiceUnavailable, "The server is closed.")
}

// guard calls a user's function and turns its panic into a failure.
func guard[T any](name string, f func() T) (v T, bad *failure) {
	defer func() {
		if p := recover(); p != nil {
			bad = serverError(http.StatusInternalServerError, fmt.Sprintf("%s panicked: %v", name, p))
		}
	}()
	return f(), nil
}

const jsonType = "application/json"

// encode returns v as JSON. All that the server sends can be encoded.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":{"message":"unencodable answer"}}`)
	}
	return data
}
