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

// Answers says that the response to a call has begun and goes on, as that of a stream does. A probe counts
// as a Success from then on and holds up no others. If it ends as a Failure after all, that counts, too.
func (e engine) Answers(t Ticket) {
	b := e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.b != b || b.records[t.slot].gen != t.gen {
		return
	}
	r := &b.records[t.slot]
	now := b.nowLocked()
	if r.answers || !b.machine.answers(now, r.phase) {
		return
	}
	r.answers, r.phase = true, b.machine.phase
	b.addChangeLocked(now, HalfOpen, r.observer)
	b.wakeLocked()
	b.tellLocked()
}

// Probed returns a channel that is closed when the probes under way no longer hold up other calls: one of them has
// ended or answers, or the breaker is not half-open any more.
func (e engine) Probed() <-chan struct{} {
	b := e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probed == nil {
		b.probed = make(chan struct{})
	}
	probed := b.probed
	b.wakeLocked()
	return probed
}

// wakeLocked closes the channel of Probed if that is the case.
func (b *Breaker) wakeLocked() {
	if b.probed != nil && !b.machine.probing() {
		close(b.probed)
		b.probed = nil
	}
}

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(b *Breaker) any { return engine{b} })
}
