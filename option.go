package headrace

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/retry"
)

// Option is a setting of Transport.
type Option func(*transport)

// WithRegistry takes the limiters from r in place of registry.Default().
func WithRegistry(r *registry.Registry) Option {
	return func(t *transport) {
		if r == nil {
			t.problems.Addf("WithRegistry", "nil: leave it out for registry.Default()")
		}
		t.routes.registry = r
	}
}

// WithLimiter has every request, whatever its host and model, go by l. The preset
// then only tells the dialect.
func WithLimiter(l *adaptive.Limiter) Option {
	return func(t *transport) {
		if l == nil {
			t.problems.Addf("WithLimiter", "nil: leave it out for one of the registry, or look whether its name is spelt right")
		}
		t.routes.fixed = l
	}
}

// WithPresets looks the preset, and the models that requests name, up in t in
// place of presets.Default(), for who has made rows of his own:
// presets.Default().With(mine).
func WithPresets(p *presets.Table) Option {
	return func(t *transport) {
		if p == nil {
			t.problems.Addf("WithPresets", "nil: leave it out for presets.Default()")
		}
		t.routes.table = p
	}
}

// WithDialect reads responses and estimates requests by d in place of the
// preset's dialect; nil is dialect.Auto.
func WithDialect(d dialect.Dialect) Option {
	return func(t *transport) {
		if t.dialect = d; invalid.Nil(d) || d == dialect.Name("") {
			t.dialect = dialect.Auto
		}
		if n, ok := t.dialect.(dialect.Name); ok {
			_, err := dialect.ByName(string(n))
			t.problems.AddPart("WithDialect", err)
		}
	}
}

// WithObserver tells o what the limiter does with the requests of this
// transport, and SDKRetries. One that the context of a request, or the registry, has too is told by both.
func WithObserver(o event.Observer) Option { return func(t *transport) { t.observer = o } }

// WithMaxWait bounds how long a request of this transport that was refused may wait to go again,
// from its first refusal. The limiter's own bound, which all who share it have, holds too: 15 minutes, or what
// adaptive.Config.MaxWait says in the registry or of the limiter of WithLimiter.
func WithMaxWait(d time.Duration) Option {
	return func(t *transport) {
		if d <= 0 {
			t.problems.Addf("WithMaxWait", "%s is not positive: leave it out for the limiter's own", d)
		}
		t.maxWait = d
	}
}

// WithRetry sets how often what failed without being refused is tried, where
// it can do no harm; see Transport. The default is the zero Policy, three attempts;
// MaxAttempts: 1 turns it off.
func WithRetry(p retry.Policy) Option {
	return func(t *transport) {
		t.problems.AddPart("WithRetry", p.Validate())
		t.retry = p
	}
}
