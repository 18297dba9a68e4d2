package breaker

import "github.com/headrace/headrace/internal/hook"

// engine is what package guard uses of a Breaker besides its public methods, through package hook.
type engine struct{ b *Breaker }

// Idle reports whether a new breaker in the place of this one would admit the
// same calls: no ticket is out, and no failure of the last hour counts. An open
// breaker counts until an hour after its open time was over.
func (e engine) Idle() bool {
	b := e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.records) == len(b.free) && !b.machine.remembers(b.nowLocked())
}

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(b *Breaker) any { return engine{b} })
}
