package httpclient

import (
	"net/http"
	"net/url"
	"time"

	"github.com/headrace/headrace/internal/hook"
)

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(*Client) any { return inside{} })
}

// inside is what package endpoint sees besides the public names. Its methods are exported, so that endpoint can name
// them in an interface, on a type that is not.
type inside struct{}

// Config is complete.
func (inside) Config(c *Client) Config { return c.config }

// Check returns a *GateError if the gate of a valid c rejects u.
func (inside) Check(c Config, u *url.URL) error {
	if c.Gate == nil {
		return nil
	}
	return newGate(*c.Gate, c.Proxies).check(u)
}

// Steady reports whether asking for the value costs nothing.
func (inside) Steady(s Secret) bool { return s.steady }

// Call is that which resp answers. ok is false if it is not known.
func (inside) Call(resp *http.Response) (id string, attempts int, waited time.Duration, ok bool) {
	c := answeredBy(resp)
	if c == nil {
		return "", 0, 0, false
	}
	return c.id, int(c.attempts.Load()), time.Duration(c.waited.Load()), true
}

// Failed makes the error of the call that resp, if not nil, answers.
func (inside) Failed(resp *http.Response, code Code, cause error) *Error {
	failed := &Error{}
	if resp != nil {
		failed = failureOf(resp)
	}
	failed.Code, failed.cause = code, cause
	return failed
}

// Waited is how long the call waited until its first attempt.
func (inside) Waited(failed *Error) time.Duration { return failed.waited }
