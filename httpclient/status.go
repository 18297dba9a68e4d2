package httpclient

import (
	"io"
	"net/http"
)

// maxKept is how much of the body CheckStatus keeps.
const maxKept = 64 << 10

// CheckStatus returns nil if the status of resp is 2xx. Otherwise it reads up to 64 KiB of the body,
// closes it and returns an *Error with CodeStatus, the header and that body. resp may come from any
// client.
func CheckStatus(resp *http.Response) error {
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	failed := failureOf(resp)
	failed.StatusCode, failed.Header = resp.StatusCode, resp.Header
	switch {
	case resp.Body == nil:
	case resp.StatusCode == http.StatusSwitchingProtocols:
		_ = resp.Body.Close() // it is a connection, on which nothing need arrive
	default:
		failed.Body, _ = io.ReadAll(io.LimitReader(resp.Body, maxKept)) // the status is the error
		_ = resp.Body.Close()
	}
	return failed
}

// failureOf is the error of an answer, of any client, with what is known of its call.
func failureOf(resp *http.Response) *Error {
	if b, ok := resp.Body.(*callBody); ok {
		return b.call.fail(CodeStatus, PhaseBody, nil, nil)
	}
	failed := &Error{Code: CodeStatus, Phase: PhaseBody}
	req := resp.Request
	if req == nil || req.URL == nil {
		return failed
	}
	failed.Service, failed.Host = req.URL.Host, req.URL.Host
	failed.Method, failed.URL = method(req), redactURL(req.URL)
	if c := callOf(req.Context()); c != nil {
		failed.Service, failed.ID, failed.Attempt = c.service(), c.id, int(c.attempts.Load())
		failed.Elapsed = c.elapsed()
	}
	return failed
}

// answeredBy is the call that resp answers, or nil.
func answeredBy(resp *http.Response) *call {
	if b, ok := resp.Body.(*callBody); ok {
		return b.call
	}
	if resp.Request == nil {
		return nil
	}
	return callOf(resp.Request.Context())
}
