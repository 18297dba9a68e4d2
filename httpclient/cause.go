package httpclient

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrClosed is in the tree of the errors of a closed client.
var ErrClosed = errors.New("httpclient: the client is closed")

// tooLongError is what reading a body past its limit gives.
type tooLongError struct {
	field string
	limit int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the body is longer than Config.%s, %d bytes; raise it if that is meant", e.field, e.limit)
}

// resentError is that net/http has sent a request too often by itself.
type resentError struct{ times int }

// Redact returns e, which holds no secret.
func (e *resentError) Redact([]string) error { return e }

func (e *resentError) Error() string {
	return fmt.Sprintf("net/http sent it on %d new connections, and each was refused", e.times)
}

// proxyError is a CONNECT that was refused, without the proxy's words.
type proxyError struct{ status int }

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy refused to connect: status %d", e.status)
}

// ProxyStatus is the status of the response.
func (e *proxyError) ProxyStatus() int { return e.status }

// Redact returns e, which holds no secret.
func (e *proxyError) Redact([]string) error { return e }

// final reports whether it would refuse again.
func (e *proxyError) final() bool {
	return e.status/100 == 4 && e.status != http.StatusRequestTimeout && e.status != http.StatusTooManyRequests
}

// isA reports whether there is an E in the tree of err.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// timedOut reports whether an error in the tree of err is of a timeout.
func timedOut(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
