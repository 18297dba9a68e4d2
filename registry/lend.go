package registry

import (
	"math"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
)

// shown is what the transport uses of a Registry besides its public methods, through package hook.
type shown struct{ r *Registry }

// Lend is GetOrCreate for names that may come from outside, such as those of hosts: an unused guard is forgotten if
// there are too many.
func (l shown) Lend(name string, p guard.Policy) (*guard.Guard, error) {
	return l.r.getOrCreate(name, &recipe{policy: p, template: true, idle: math.MaxInt64})
}

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(r *Registry) any { return shown{r} })
}
