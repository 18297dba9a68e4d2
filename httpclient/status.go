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
func CheckStatus(resp *http.Response) error { return checkStatus(resp, maxKept) }

// checkStatus is CheckStatus that keeps most bytes of the body.
func checkStatus(resp *http.Response, most int) error {
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	var failed *Error
	if b, ok := resp.Body.(*callBody); ok {
		failed = b.call.fail(CodeStatus, PhaseBody, nil, nil)
	} else {
		failed = fromOutside(resp)
	}
	failed.StatusCode, failed.Header = resp.StatusCode, resp.Header
	if resp.Body != nil {
		failed.Body, _ = io.ReadAll(io.LimitReader(resp.Body, int64(most))) // the status is the error
		_ = resp.Body.Close()
	}
	return failed
}

// fromOutside knows what the answer tells of its request.
func fromOutside(resp *http.Response) *Error {
	failed := fromRequest(resp.Request)
	failed.Code, failed.Phase = CodeStatus, PhaseBody
	return failed
}

// fromRequest is an error of req, which another client may have sent, or nobody knows.
func fromRequest(req *http.Request) *Error {
	failed := &Error{}
	if req != nil && req.URL != nil {
		failed.Service, failed.Host = req.URL.Host, req.URL.Host
		failed.Method, failed.URL = method(req), redactURL(req.URL)
		if c := callOf(req.Context()); c != nil {
			failed.Service, failed.ID, failed.Attempt = c.service(), c.id, int(c.attempts.Load())
			failed.Elapsed = c.elapsed()
		}
	}
	return failed
}
