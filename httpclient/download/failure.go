package download

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/headrace/headrace/httpclient"
)

func (s *session) fail(step Step, err error) *Error {
	return &Error{Target: s.target, Step: step, cause: err}
}

func (s *session) failAgain(step Step, err error) *Error {
	failed := s.fail(step, err)
	failed.again = true
	return failed
}

// typed is for errors that attempts made, which are all of this type.
func (s *session) typed(err error) *Error {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		failed = s.failAgain(StepAnswer, err)
	}
	failed.Target = s.target
	return failed
}

// refused is for requests without an answer.
func (s *session) refused(err error) *Error {
	failed := s.fail(StepRequest, s.hush(err))
	failed.again = worthAnother(err)
	return failed
}

// rejected is for answers that are not the file.
func (s *session) rejected(err error) *Error {
	failed := s.fail(StepAnswer, err)
	if status := statusError(err); status != nil {
		failed.again = isPassing(status.StatusCode)
	}
	return failed
}

// broken is for bodies that failed.
func (s *session) broken(err error) *Error {
	cause := s.hush(err)
	if errors.Is(err, httpclient.CodeBodyLimit) {
		cause = fmt.Errorf("the client's bound is shorter than the file: raise httpclient.Config.MaxResponse: %w", cause)
	}
	failed := s.fail(StepRead, cause)
	failed.again = worthAnother(err)
	return failed
}

func worthAnother(err error) bool {
	for _, code := range []httpclient.Code{
		httpclient.CodeBodyLimit, httpclient.CodeUnsent, httpclient.CodeRedirect, httpclient.CodeCanceled,
	} {
		if errors.Is(err, code) {
			return false
		}
	}
	return true
}

func isPassing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	default:
		return status >= http.StatusInternalServerError
	}
}

// statusError finds the answer's status in err, or nil.
func statusError(err error) (found *httpclient.Error) {
	if failed, ok := errors.AsType[*httpclient.Error](err); ok && failed.Code == httpclient.CodeStatus {
		found = failed
	}
	return found
}

// hush takes the URL off what an *http.Client says, and everything if it
// repeats a secret all the same; errors.Is sees the causes. An *httpclient.Error has none.
func (s *session) hush(err error) error {
	if outside, ok := err.(*url.Error); ok { //nolint:errorlint // the one that http.Client puts around, and no other
		err = outside.Err
	}
	if _, ok := errors.AsType[*httpclient.Error](err); ok {
		return err
	}
	text := err.Error()
	if strings.Contains(text, "Location") { // and its value, which may be signed
		return &hushedError{is: func(target error) bool { return errors.Is(err, target) }}
	}
	for _, secret := range secretsOf(s.req) {
		if strings.Contains(text, secret) {
			return &hushedError{is: func(target error) bool { return errors.Is(err, target) }}
		}
	}
	return err
}

func secretsOf(req *http.Request) []string {
	const shortest = 4 // what is shorter is no secret
	var all []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= shortest {
				all = append(all, v)
			}
		}
	}
	for _, values := range req.Header {
		add(values...)
		for _, v := range values {
			_, token, _ := strings.Cut(v, " ") // "Bearer x"
			add(token)
		}
	}
	add(req.URL.RawQuery)
	for _, values := range req.URL.Query() {
		add(values...)
	}
	if u := req.URL.User; u != nil {
		password, _ := u.Password()
		add(u.Username(), password)
	}
	return all
}

// hushedError hides its origin in a function, where no printing finds it.
type hushedError struct{ is func(target error) bool }

func (*hushedError) Error() string          { return "the request failed, with a text that repeats a secret" }
func (e *hushedError) Is(target error) bool { return e.is(target) }
