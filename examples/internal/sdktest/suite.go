package sdktest

import (
	"context"
	"net/http"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/registry"
)

const (
	// URL is a provider's in a test that has no socket.
	URL = "http://provider.test"
	// Canary is the key of all calls, which is to be found nowhere.
	Canary = "sk-canary-4711"
)

// Suite is an SDK, and how its provider talks.
type Suite struct {
	Service string // that the preset is for

	// Under is a Transport over base with limiters of its own, and Watched another
	// that tells o everything and sends nothing again but what was refused.
	Under   func(base http.RoundTripper) http.RoundTripper
	Watched func(base http.RoundTripper, o event.Observer) http.RoundTripper

	// Program calls as the program does, by a client that sends by transport.
	// Client uses another http.Client, and Careless leaves the SDK its retries.
	Program  func(transport http.RoundTripper, url string) Call
	Client   func(by *http.Client, url string) Call
	Careless func(by *http.Client, url string) Call

	// API finds an error that the provider answered with, else nil. Kind names
	// the errors that only this SDK has, and is "" for others.
	API  func(error) *API
	Kind func(error) string

	Hello   string                   // an answer that says hello, at 4 tokens
	Hel     string                   // an event that says hel
	Refusal func(code string) string // the body of a refusal
	Codes   map[int]string           // what a provider calls a status
	Spent   Answer                   // there is no money left
}

// Call makes a call by the SDK. It returns what was said, of a stream with bars
// between the events, and the tokens.
type Call func(ctx context.Context, stream bool) (said string, tokens int64, err error)

// API is an error of an SDK as a caller can look at it.
type API struct {
	Status   int
	Code     string
	Raw      string // the part of the body that is the error
	Request  *http.Request
	Response *http.Response
}

// Limiters are some that share nothing. They tell o, if there is one.
func Limiters(o event.Observer) *registry.Registry {
	limiters, err := registry.New(registry.Config{Observer: o})
	if err != nil {
		panic(err) // an empty config has nothing that could be wrong
	}
	return limiters
}

// Refuse answers with what the provider calls the status.
func (s Suite) Refuse(status int, header ...string) Answer {
	return Always(status, s.Refusal(s.Codes[status]), header...)
}

// bare is no Transport.
func bare(base http.RoundTripper) http.RoundTripper { return base }
