package guard

import "time"

// Hold implements inflight.Attempt.
func (k *attempt) Hold() {
	l := k.call.guard.learner
	if l == nil || !k.setHeld() {
		return
	}
	l.free.Store(false)
	l.update(func(time.Time) { l.governor.held++ })
}

func (k *attempt) setHeld() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.over && !k.held.Swap(true)
}

// unhold ends Hold. The caller has closed the attempt, so it cannot begin again.
func (k *attempt) unhold() {
	if k.held.Load() && k.held.Swap(false) {
		l := k.call.guard.learner
		l.update(func(time.Time) { l.governor.held-- })
	}
}
