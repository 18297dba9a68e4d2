package guard_test

import (
	"fmt"
	"net/http"
)

// Errors in the shapes that those of SDKs have.

type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("answer %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

type sdkError struct {
	Code, Type string
	StatusCode int
	Response   *http.Response
	message    string
}

func (e *sdkError) Error() string { return "sdk: " + e.message }

type responseError struct{ Response *http.Response }

func (e responseError) Error() string { return "response" }

// answered is the error for a 429 with that header.
func answered(header ...string) responseError {
	r := responseError{&http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}}}
	for i := 0; i < len(header); i += 2 {
		r.Response.Header.Set(header[i], header[i+1])
	}
	return r
}
