package law

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/learn"
	"github.com/headrace/headrace/internal/simulate/client"
)

// The names of the controller that ships as the default, without what headers tell
// and with it. The targets of the report are theirs.
const (
	Blind   = "headrace blind"
	Headers = "headrace headers"
)

// most is the ceiling of every window, ours and those of others.
const most = 200

// All returns our laws in the order of the tables.
func All() []client.Contender {
	return []client.Contender{
		Drive("headrace AIMD", adaptive.AIMD{Max: most}, false),
		Drive(Blind, adaptive.Measured{Max: most, IgnoreHeaders: true}, false),
		Drive(Headers, adaptive.Measured{Max: most}, true),
	}
}

// Sharing returns the default law, blind and with headers, of processes that are
// each told their part of what the provider allows.
func Sharing() []client.Contender {
	return []client.Contender{
		part(Blind+" shared", adaptive.Measured{Max: most, IgnoreHeaders: true}, false),
		part(Headers+" shared", adaptive.Measured{Max: most}, true),
	}
}

// Ablated returns the default law with each of its rules left out in turn,
// blind and with headers.
func Ablated() (all []client.Contender) {
	for name, rule := range learn.AllRules() {
		blind := adaptive.Measured{Max: most, IgnoreHeaders: true}.Without(rule)
		headers := adaptive.Measured{Max: most}.Without(rule)
		all = append(all, Drive(Blind+" -"+name, blind, false), Drive(Headers+" -"+name, headers, true))
	}
	return all
}
