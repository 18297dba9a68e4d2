package download

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/headrace/headrace/httpclient"
)

// follow is the remedy for a redirect.
const follow = "to go where it leads, set httpclient.Config.Gate and download with Client.Following(httpclient.Follow{})"

func (s *session) fail(step string, err error) *Error {
	return &Error{Target: s.target, Step: step, cause: err}
}

func (s *session) failAgain(step string, err error) *Error {
	failed := s.fail(step, err)
	failed.again = true
	return failed
}

// typed is for errors that attempts made, which are all of this type.
func (s *session) typed(err error) *Error {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		failed = s.failAgain(stepAnswer, err)
	}
	failed.Target = s.target
	return failed
}

// refused is for requests without an answer.
func (s *session) refused(err error) *Error {
	cause := s.hush(err)
	if _, plain := s.client.(*httpclient.Client); plain && errors.Is(err, httpclient.CodeRedirect) {
		cause = fmt.Errorf("%w; %s", cause, follow)
	}
	failed := s.fail(stepRequest, cause)
	failed.again = worthAnother(err)
	return failed
}

// rejected is for answers that are not the file.
func (s *session) rejected(err error) *Error {
	status := statusError(err)
	if status == nil {
		return s.fail(stepAnswer, err)
	}
	if isRedirect(status.StatusCode) {
		err = fmt.Errorf("%w; %s", err, follow)
	}
	failed := s.fail(stepAnswer, err)
	failed.again = isPassing(status.StatusCode)
	return failed
}

// broken is for bodies that failed.
func (s *session) broken(err error) *Error {
	cause := s.hush(err)
	if errors.Is(err, httpclient.CodeBodyLimit) {
		cause = fmt.Errorf("the client's bound is shorter than the file: raise httpclient.Config.MaxResponse: %w", cause)
	}
	failed := s.fail(stepRead, cause)
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

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
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
