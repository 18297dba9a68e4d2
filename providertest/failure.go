package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// failure is an error body in OpenAI's shape, with its status.
type failure struct {
	status  int
	kind    string // error.type
	code    string // error.code; null when empty
	param   string // error.param; null when empty
	message string
}

func (f *failure) write(w http.ResponseWriter) { writeJSON(w, f.status, f) }

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

// serverError is the failure of a server that is closed or whose Reply, Fault or
// Latency panicked.
func serverError(status int, message string) *failure {
	return &failure{status: status, kind: "server_error", message: message}
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

// writeJSON writes the whole answer at once. A write error means that the client
// is gone; there is nobody left to tell.
func writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"unencodable answer"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
