package registry

import (
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Config describes guards by name. With the zero Config every name gets a guard
// that learns the provider's limits.
type Config struct {
	Default Spec            `config:"default" doc:"The template for each name that is not configured."`
	Guards  map[string]Spec `config:"guards" doc:"The guards, by name. A name with slashes, such as crawl/example.org, is within the names before each slash that are configured. A last part * is a template: each name that is asked for gets a guard of its own. Case and space around a name do not matter."`

	Store string `config:"store" doc:"Where guards share their limits with other processes: sqlite:PATH, redis://HOST:PORT/DB or service:https://HOST:PORT for those that have limits, group:PATH (one host) or group:https://HOST:PORT for those that are configured by name and find their limits out. The limits hold in this process if it is left out, or memory." pattern:"^\\s*(memory|[a-z][a-z0-9+-]*:.+)\\s*$"`

	Open     map[string]Opener // opens the addresses of Store, by scheme: sqlite, redis, group or your own
	Presets  *presets.Table    // for policies that have none; default presets.Default()
	Observer event.Observer    // receives the events of all guards; may be nil
	Clock    clockwork.Clock   // for policies that have none; default the real clock
}

// Spec describes a guard in text. The tag doc says what a field means; guard.Policy
// has more.
type Spec struct {
	Preset  presets.ID      `config:"preset" doc:"The provider's published limits to start with, such as openai/tier1 or openai/tier1/gpt-4o-mini." pattern:"^[^/\\s][^/]*(/[^/]+)*$"`
	Share   float64         `config:"share" doc:"The part of what the provider allows that is for this guard, such as 0.5 for each of two processes: of the preset's limits, of what headers declare and, if the law is measured, of what is learned. Limits are not scaled. 1 if it is left out." above:"0" most:"1"`
	Limits  throttle.Limits `config:"limits" doc:"Hard caps, never exceeded whatever is learned, such as 4/s, 200k tokens/min, 8 concurrent."`
	Law     Law             `config:"law" doc:"How the guard adapts: measured finds the provider's limits, aimd halves the calls in flight after a rate-limit response and raises them again, fixed keeps the limits and waits out rate-limit responses. If it is left out, a guard within another one leaves it to that one, and others are measured." enum:"measured,aimd,fixed"`
	Dialect dialect.Name    `config:"dialect" doc:"How the provider reports limits; that of the preset if it is left out."`

	Store string `config:"store" doc:"Where this guard shares its limits with other processes, in the form of the store of all guards; memory: nowhere. The guard's name is the key." pattern:"^\\s*(memory|[a-z][a-z0-9+-]*:.+)\\s*$"`

	Within   []string      `config:"within" doc:"Names of more guards that every call has to pass, besides those of the names before each slash."`
	MaxWait  time.Duration `config:"max_wait" doc:"How long a call may wait in all, such as 90s or 1h30m; if it is left out, any time at first, and 15m from the first rate-limit response on."`
	MaxQueue int           `config:"max_queue" doc:"How many calls may wait; one more fails at once. Any number if it is left out." above:"0"`
	Timeout  time.Duration `config:"timeout" doc:"How long an attempt may take, such as 30s; any time if it is left out."`
	Retry    int           `config:"retry" doc:"How many attempts a call makes if it fails for other reasons than a rate limit; 1 if it is left out." above:"0"`
	Breaker  bool          `config:"breaker" doc:"Whether a circuit breaker stops calls to a provider that keeps failing."`
	Idle     time.Duration `config:"idle" doc:"Of a template: a guard that was not used for so long is forgotten, except for what it has learned; 1h if it is left out."`
}

// Law names the controller of a guard.
type Law string

// The laws.
const (
	Measured Law = "measured" // adaptive.Measured
	AIMD     Law = "aimd"     // adaptive.AIMD
	Fixed    Law = "fixed"    // learns nothing
)

func laws() []string { return []string{string(Measured), string(AIMD), string(Fixed)} }

// Validate reports all problems, joined. Each is a *fault.FieldError; its Field is
// the path in the text forms, such as guards.ols.law.
func (c Config) Validate() error {
	var ps problems
	c.findOpeners(c.entries(&ps), &ps)
	return ps.Err(owner)
}
