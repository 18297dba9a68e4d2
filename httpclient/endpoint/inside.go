package endpoint

import (
	"net/http"
	"net/url"
	"time"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/hook"
)

// inside is what package httpclient shows this package alone.
type inside interface {
	// Config is complete.
	Config(c *httpclient.Client) httpclient.Config
	// Check returns a *httpclient.GateError if the gate of a valid c rejects u.
	Check(c httpclient.Config, u *url.URL) error
	// Steady reports whether asking for the value costs nothing.
	Steady(s httpclient.Secret) bool
	// Call is that which resp answers. ok is false if it is not known.
	Call(resp *http.Response) (id string, attempts int, waited time.Duration, ok bool)
	// Failed makes the error of the call that resp, if not nil, answers.
	Failed(resp *http.Response, code httpclient.Code, cause error) *httpclient.Error
	// Waited is how long the call waited until its first attempt.
	Waited(failed *httpclient.Error) time.Duration
}

func seen() inside { return hook.Open[inside]((*httpclient.Client)(nil)) }
