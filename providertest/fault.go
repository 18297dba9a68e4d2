package providertest

import "net/http"

// Fault is an answer that has nothing to do with the limits; see [Config.Fault].
// It is sent at once.
type Fault struct {
	// Status is the HTTP status, from 200 to 599; any other is sent as 500.
	Status int
	// Body is sent as it is. If it is empty and the Status is 400 or above, the
	// body is an error in OpenAI's shape that fits.
	Body string
	// Header is added to the answer. The Content-Type is application/json
	// unless it says otherwise.
	Header http.Header
}

// QuotaExhausted returns the fault of an account that has no money left: a 429
// of type insufficient_quota, which no retry will cure.
func QuotaExhausted() *Fault {
	return &Fault{
		Status: http.StatusTooManyRequests,
		Body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.",` +
			`"type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
	}
}

// status returns the status to send.
func (f *Fault) status() int {
	if f.Status < 200 || f.Status > 599 {
		return http.StatusInternalServerError
	}
	return f.Status
}

func (f *Fault) write(w http.ResponseWriter) {
	for name, values := range f.Header {
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	status := f.status()
	body := []byte(f.Body)
	if len(body) == 0 && status >= 400 {
		body, _ = faultBody(status).MarshalJSON() // strings only: it cannot fail
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails where the status allows no body, or the client is gone
}

// statusOverloaded is what some providers send when they have no capacity.
const statusOverloaded = 529

// faultBody returns the usual error of a status.
func faultBody(status int) *failure {
	f := &failure{status: status, kind: "server_error", message: "The server had an error while processing your request."}
	switch {
	case status == http.StatusTooManyRequests:
		f.kind, f.code, f.message = "requests", "rate_limit_exceeded", "Rate limit reached. Please try again later."
	case status == http.StatusServiceUnavailable:
		f.code, f.message = "server_is_overloaded", "The engine is currently overloaded, please try again later."
	case status == statusOverloaded:
		f.kind, f.message = "overloaded_error", "Overloaded"
	case status < 500:
		f.kind, f.message = "invalid_request_error", "Your request was rejected."
	}
	return f
}
