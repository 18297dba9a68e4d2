package breaker

import (
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// news is an event that has not been delivered yet.
type news struct {
	event   event.Event
	context event.Observer // of the context of the call that caused it, or nil
}

// addNewsLocked notes that the state changed, for tellLocked.
func (b *Breaker) addNewsLocked(now instant, context event.Observer, why string) {
	if b.observer == nil && context == nil {
		return
	}
	kind := event.BreakerClosed
	switch b.machine.state {
	case Open:
		kind = event.BreakerOpened
	case HalfOpen:
		kind = event.BreakerHalfOpen
	case Closed:
	}
	e := event.New(b.clock.At(now), kind, b.name)
	e.Reason, e.Err = why, b.cause
	if kind == event.BreakerOpened {
		e.Wait = b.machine.open
	}
	b.news = append(b.news, news{e, context})
}

// tellLocked tells the observers what is new. It gives the lock back for each
// of them and takes it again. One goroutine at a time tells, so that the order
// is the order of the changes; another leaves its news to that one.
func (b *Breaker) tellLocked() {
	if b.telling || len(b.news) == 0 {
		return
	}
	b.telling = true
	defer func() { b.telling = false }() // also if an observer ends the goroutine
	for len(b.news) > 0 {
		n := b.news[0]
		b.news = b.news[1:]
		b.tellUnlocked(n)
	}
	b.news = nil
}

// tellProbeLocked is tellLocked before t, a probe, has left Allow: an observer
// that ends the goroutine does not take the probe's place with it.
func (b *Breaker) tellProbeLocked(t Ticket) {
	told := false
	defer func() {
		if !told {
			b.endLocked(t, Undecided, nil)
		}
	}()
	b.tellLocked()
	told = true
}

func (b *Breaker) tellUnlocked(n news) {
	b.mu.Unlock()
	defer b.mu.Lock()
	emit.Send(emit.Except(b.observer, n.context), n.event)
	emit.Send(n.context, n.event)
}
