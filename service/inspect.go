package service

import (
	"fmt"

	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

// Inspection is what a configuration file says, with the defaults of what it leaves out.
type Inspection struct {
	Store  string // its address, which may have a password
	Outage string // what happens while the store is unavailable: closed, open or local
	Tokens int    // how many bearer tokens it accepts; 0: none is required
	Limits []Limit
	// EnvoyDifferences has a line for each difference from envoyproxy/ratelimit in the files of
	// envoy.files. It is empty if there are none.
	EnvoyDifferences []string
}

// Limit is a limit of a configuration file.
type Limit struct {
	Name            string
	Scope, Resource string // empty: of all that have no limit of their own
	Limits          string // such as "5/s, 300/min"
}

// Inspect reads a configuration file as New does, but opens nothing. Problems are joined,
// each a *fault.FieldError.
func Inspect(path string) (Inspection, error) {
	own := Config{File: path}
	r, err := own.read()
	if err != nil {
		return Inspection{}, err
	}
	c := r.config
	i := Inspection{Store: c.Runtime.Store, Outage: string(c.Runtime.Outage), Tokens: len(c.Tokens)}
	for _, r := range c.Rules.All() {
		i.Limits = append(i.Limits, Limit{r.Name, r.Scope, r.Resource, limitsOf(r)})
	}
	for _, d := range r.envoy.differences {
		i.EnvoyDifferences = append(i.EnvoyDifferences, d.String())
	}
	return i, nil
}

// limitsOf are the limits of a rule as a file has them.
func limitsOf(r *rules.Rule) string {
	if r.OneShot {
		return fmt.Sprintf("%d once", r.Limits.Windows[0].Max())
	}
	l := throttle.Limits{}
	for _, w := range r.Limits.Windows {
		l.Windows = append(l.Windows, w.Of(throttle.Requests)) // they count tokens of the service
	}
	return l.String()
}
