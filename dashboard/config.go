package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/registry"
)

// Config describes a Dashboard. The zero Config shows registry.Default, and changes nothing.
type Config struct {
	// Title is the heading of the page. The default is "headrace".
	Title string

	// Registry has the guards to show. Nil means registry.Default(), unless there are Guards. Up to 64
	// are shown: those without a call for the longest time make room. A guard that is configured is shown from its
	// first use on.
	Registry *registry.Registry
	// Guards are shown too. Of two with the same name the first is shown.
	Guards []*guard.Guard

	// Token allows actions, and reading from other machines, to requests with
	// "Authorization: Bearer TOKEN". If it is empty neither is possible.
	Token string
	// Hosts are the names, besides localhost and IP addresses, by which the page can be reached, without ports.
	// Requests that use them need the Token.
	Hosts []string

	// Log receives the panics of requests to Listen, without their values, which may repeat a secret. If it is nil,
	// net/http reports them to package log.
	Log *slog.Logger

	// Clients returns those that make the calls, for the table of shares. It is called about once a second while the
	// page is open, and must return at once. Nil means there is no table. The first 100 are shown.
	Clients func() []Client
	// Queues returns what waits in queues of the program's own before limiters, for example by client. It is called up
	// to four times a second, and must return at once. Nil means that calls wait in the limiters only.
	Queues func() []Queue
	// Keys returns the keys that refuse most calls, those first, for a table. It is called as Clients is. Nil means there is
	// no table. The first 100 are shown.
	Keys func() []Key
	// Drain stops the intake of the program and returns when its calls have ended. It is called once. Its context
	// ends with Close, which does not wait for it. Nil means that the program cannot be drained.
	Drain func(context.Context) error
}

// Queue is what waits for one limiter.
type Queue struct {
	Limiter string        // its name
	Waiting int           // calls, those included that the limiter itself counts
	Oldest  time.Duration // how long the first of them has waited
}

// Client is a caller, such as a user of a proxy.
type Client struct {
	Name     string        `json:"name"`
	Weight   float64       `json:"weight,omitempty"` // its part of the limit beside others; 0 means 1
	Waiting  int           `json:"waiting"`          // calls in queues
	Admitted int64         `json:"admitted"`         // calls so far
	Waited   time.Duration `json:"waited_ns"`        // by all calls so far
}

// Key is a limit of a service that refuses calls, such as that of one user.
type Key struct {
	Name    string `json:"name"`
	Refused int64  `json:"refused"` // calls so far
}

func (c *Config) validate() error {
	problems := invalid.Problems{Owner: "dashboard"}
	for i, g := range c.Guards {
		if g == nil {
			problems.Addf(fmt.Sprintf("Guards[%d]", i), "the guard is nil: is its name registered?")
		}
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problems.Addf("Token", "it has spaces or characters that a header cannot hold: use letters and digits")
	}
	for i, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, ":/*@ ") {
			problems.Addf(fmt.Sprintf("Hosts[%d]", i), "%q is not a name: give it without a scheme, a port and wildcards", h)
		}
	}
	return problems.Err()
}
