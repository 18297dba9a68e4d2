package throttle

import (
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// tell sends an event of this limiter to its observer. It is never called with
// the lock held.
func (l *Limiter) tell(kind event.Kind, wait time.Duration, reason string, err error) {
	if l.observer == nil {
		return
	}
	e := event.New(l.clock.Now(), kind, l.name)
	e.Wait, e.Reason, e.Err = wait, reason, err
	emit.Send(l.observer, e)
}

// tellWaited tells of a wait that is over. An observer that ends the goroutine
// takes nothing along.
func (l *Limiter) tellWaited(p Permit, waited time.Duration, err error) {
	if l.observer == nil {
		return
	}
	told := false
	defer func() {
		if !told {
			p.Cancel()
		}
	}()
	l.tell(event.LimiterWaited, waited, "", err)
	told = true
}
