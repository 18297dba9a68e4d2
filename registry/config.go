package registry

import (
	"time"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Config names guards. The zero Config has none: each name that is asked for
// gets a guard that finds the provider's limits.
//
// A name with slashes is within the names before each slash that are
// configured: a call by "crawl/example.org" has to pass the limits of "crawl"
// too. A last part "*" makes a template: with "crawl/*" each name below "crawl"
// that is asked for gets a guard of its own.
type Config struct {
	Default Spec            `config:"default" doc:"The template for each name that is not configured."`
	Guards  map[string]Spec `config:"guards" doc:"The guards, by name. A name with slashes, such as crawl/example.org, is within the names before each slash that are configured. A last part * is a template: each name that is asked for gets a guard of its own. Case and space around a name do not matter."`

	presets *presets.Table // of WithPresets; nil means presets.Default()
}

// Spec describes a guard in text; see guard.Policy for the meaning of a field.
// The zero Spec finds the provider's limits with the law Measured.
type Spec struct {
	// Preset is where the law starts. With the laws AIMD and Fixed, and if the
	// preset is a rule, its limits are hard caps besides Limits.
	Preset presets.ID `config:"preset" doc:"The provider's published limits to start with, such as openai/tier1 or openai/tier1/gpt-4o-mini." pattern:"^[^/\\s][^/]*(/[^/]+)*$"`
	// Share is the part of the preset's limits to use, above 0 and at most 1.
	// The default is 1.
	Share float64 `config:"share" doc:"The part of the preset's limits to use, such as 0.5 for each of two processes; 1 if it is left out." above:"0" most:"1"`
	// Limits are hard caps.
	Limits throttle.Limits `config:"limits" doc:"Hard caps, never exceeded whatever is learned, such as 4/s, 200k tokens/min, 8 concurrent."`
	// Law is how the guard adapts. The default is Measured, or, for a guard
	// within another one, to leave that to the outer guard.
	Law Law `config:"law" doc:"How the guard adapts: measured finds the provider's limits, aimd halves the calls in flight after a rate-limit response and raises them again, fixed keeps the limits and waits out rate-limit responses. If it is left out, a guard within another one leaves it to that one, and others are measured." enum:"measured,aimd,fixed"`
	// Dialect is how the provider reports limits. The default is the preset's.
	Dialect dialect.Name `config:"dialect" doc:"How the provider reports limits; that of the preset if it is left out."`

	// Within names more guards that every call has to pass, besides those of the
	// names before each slash.
	Within []string `config:"within" doc:"Names of more guards that every call has to pass, besides those of the names before each slash."`
	// MaxWait bounds how long a call waits. The default is no bound at first, and
	// 15 minutes from the first rate-limit response on.
	MaxWait time.Duration `config:"max_wait" doc:"How long a call may wait in all, such as 90s or 1h30m; if it is left out, any time at first, and 15m from the first rate-limit response on."`
	// MaxQueue bounds how many calls may wait. The default is no bound.
	MaxQueue int `config:"max_queue" doc:"How many calls may wait; one more fails at once. Any number if it is left out." above:"0"`
	// Timeout bounds each attempt. The default is no bound.
	Timeout time.Duration `config:"timeout" doc:"How long an attempt may take, such as 30s; any time if it is left out."`
	// Retry is how many attempts a call makes if it fails for other reasons than
	// a rate limit. The default is one.
	Retry int `config:"retry" doc:"How many attempts a call makes if it fails for other reasons than a rate limit; 1 if it is left out." above:"0"`
	// Breaker adds a circuit breaker with the defaults of package breaker.
	Breaker bool `config:"breaker" doc:"Whether a circuit breaker stops calls to a provider that keeps failing."`
	// Idle is for templates: a guard that was not used for so long is forgotten.
	// What it has learned is kept. The default is one hour.
	Idle time.Duration `config:"idle" doc:"Of a template: a guard that was not used for so long is forgotten, except for what it has learned; 1h if it is left out."`
}

// Law names a control law of package adaptive.
type Law string

// The laws that a guard can have.
const (
	Measured Law = "measured" // adaptive.Measured: finds what the provider allows
	AIMD     Law = "aimd"     // adaptive.AIMD: raises and halves the calls in flight
	Fixed    Law = "fixed"    // learns nothing: keeps the limits and waits out rate-limit responses
)

func laws() []string { return []string{string(Measured), string(AIMD), string(Fixed)} }

// Validate reports every problem, each as a *fault.FieldError whose Field is the
// path to the value as in the text forms, such as guards.ols.law. The only
// option that matters is WithPresets.
func (c Config) Validate(opts ...Option) error {
	with(opts).give(&c)
	var ps problems
	c.entries(&ps)
	return ps.err()
}
