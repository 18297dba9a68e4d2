package registry

import (
	"time"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Config is what a registry knows from the start. The zero Config knows
// nothing: each service gets a limiter of its own that finds the provider's limits.
type Config struct {
	Default  Spec               `config:"default" doc:"The template for each service that is not configured."`
	Services map[string]Service `config:"services" doc:"The services, by name. Case and space around a name do not matter."`

	presets *presets.Table // of WithPresets; nil: presets.Default()
}

// Service is one limiter for all hosts of a service, and more for some of them.
// If it has Hosts and its own Spec is zero, the other hosts have the template
// Config.Default, as if the service were not configured.
type Service struct {
	Spec `config:",inline"`
	// Hosts have limiters of their own, "service/host". Nothing is taken over from
	// the service. The entry "*" is a template: each host that is not named gets one.
	Hosts map[string]Spec `config:"hosts" doc:"Hosts with a limiter of their own, as URLs name them. The host * is the template for each host that is not named. Nothing is taken over from the service."`
}

// Spec describes one limiter. The zero Spec finds the provider's limits with
// the law Measured.
type Spec struct {
	// Preset is where the law starts. With the laws AIMD and Fixed, and if the preset
	// is a rule to keep, its limits are hard caps besides Limits.
	Preset presets.ID `config:"preset" doc:"The provider's published limits to start with, such as openai/tier1 or openai/tier1/gpt-4o-mini." pattern:"^[^/\\s][^/]*(/[^/]+)*$"`
	// Share is the part of the preset's limits that this limiter may use, above 0 and
	// at most 1, as in 0.5 for each of two processes; default 1.
	Share float64 `config:"share" doc:"The part of the preset's limits that this limiter may use; 1 if it is left out." above:"0" most:"1"`
	// Limits are hard caps, which are never learnt away. Their Concurrency is also
	// where the law starts.
	Limits throttle.Limits `config:"limits" doc:"Hard caps, which are never learnt away, such as 4/s, 200k tokens/min, 8 concurrent."`
	// Law is how the limiter adapts; default Measured.
	Law Law `config:"law" doc:"How the limiter adapts: measured finds the provider's limits, aimd cuts the calls in flight by half and adds to them again, fixed keeps the limits and waits after a refusal. measured if it is left out." enum:"measured,aimd,fixed"`
	// MaxWait is how long a refused call may wait to go again; default 15 minutes.
	MaxWait time.Duration `config:"max_wait" doc:"How long a refused call may wait to go again, such as 90s or 1h30m; 15m if it is left out."`
	// Dialect is how the provider reports limits; default the preset's, or none.
	Dialect dialect.Name `config:"dialect" doc:"How the provider reports limits; that of the preset if it is left out."`
}

// Law names a control law of package adaptive.
type Law string

// The laws that a limiter can have.
const (
	Measured Law = "measured" // adaptive.Measured: finds what the provider really allows
	AIMD     Law = "aimd"     // adaptive.AIMD: cuts and raises the calls in flight
	Fixed    Law = "fixed"    // learns nothing: keeps the limits, and waits after a refusal
)

func laws() []string { return []string{string(Measured), string(AIMD), string(Fixed)} }

// Validate reports every problem at once, each as a *fault.FieldError that gives the
// way to the field in the spelling of the text forms, such as services.ols.law.
// Of the options it heeds WithPresets.
func (c Config) Validate(opts ...Option) error {
	with(opts).give(&c)
	var ps problems
	for range c.entries(&ps) {
		continue // each puts its problems into ps
	}
	return ps.err()
}
