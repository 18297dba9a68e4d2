package headrace

import (
	"net/http"
	"slices"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
)

// Option is an option of Transport.
type Option func(*transport)

// With sets the policy of the transport's guards, one for each service, host, pool of models and
// credential. They are within the guards that the registry shares between transports, unless p has a
// Law, Share, Detector or Store and they learn by themselves. A Detector judges responses with a status
// of 400 or above before the dialect does; adaptive.AnswerIn returns status, header and body. p.Preset defaults to that of Transport, p.Retry
// to three attempts, and p.Timeout bounds an attempt to the header of the response.
func With(p guard.Policy) Option { return func(t *transport) { t.policy = p } }

// Within makes every request pass the guards as well, whatever its host, model and credential. Without
// a preset and a service, the first of them learns.
func Within(guards ...*guard.Guard) Option {
	return func(t *transport) {
		if slices.Contains(guards, nil) {
			t.problems.Addf("Within", "a guard is nil: is its name registered?")
		}
		t.routes.within = append(t.routes.within, guards...)
	}
}

// WithinOf makes a request pass the guard that f returns for it, such as that of its user. Nil means
// none. f is called once for each request, on its goroutine.
func WithinOf(f func(*http.Request) *guard.Guard) Option {
	return func(t *transport) {
		if f == nil {
			t.problems.Addf("WithinOf", "the function is nil: leave the option out")
		}
		t.routes.of = f
	}
}

// WithService names the service in the registry; the default is the provider of the preset. A guard
// that is configured or registered as "service/host" or "service" is used as it is, for all models and
// credentials.
func WithService(name string) Option {
	return func(t *transport) {
		if name == "" {
			t.problems.Addf("WithService", "the name is empty: leave the option out for the provider of the preset")
		}
		t.routes.service = name
	}
}

// WithRegistry takes guards from r instead of registry.Default().
func WithRegistry(r *registry.Registry) Option {
	return func(t *transport) {
		if r == nil {
			t.problems.Addf("WithRegistry", "nil: leave it out for registry.Default()")
		}
		t.routes.registry = r
	}
}

// WithResend sets how many bytes are kept of a request body without GetBody while it is sent, so that it
// can be sent again. A longer one is sent once. The default is 16 MiB, for each request in flight. Of a
// body that is read in advance for its estimate, up to 1 MiB, all is kept.
func WithResend(bytes int64) Option {
	return func(t *transport) {
		if bytes < 0 {
			t.problems.Addf("WithResend", "%d is negative: use 0 to send such bodies once", bytes)
		}
		t.resent = bytes
	}
}

// WithFirstByte bounds the time from the last Read of the request body, from the end of writing a short
// body that is in memory, or from the start of the attempt if there was neither, to the header of the
// response. The default is 10 minutes, or no bound if the policy has a Timeout. 0 means no bound; a negative d is an error of every request. The error of a late response matches
// context.DeadlineExceeded and counts as a failure, which is retried where that is safe. A base that ignores
// its context is not stopped: guard.Policy.Timeout abandons it.
func WithFirstByte(d time.Duration) Option {
	return func(t *transport) {
		if d < 0 {
			t.problems.Addf("WithFirstByte", "%s is negative: use 0 for no bound", d)
		}
		t.firstByte, t.firstByteSet = max(0, d), true
	}
}
