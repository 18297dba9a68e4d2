package httpclient

import (
	"math"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/ended"
)

const never time.Duration = math.MaxInt64

// watch ends the attempts of a client that take too long, with one timer for all of them. A timer for each attempt,
// one more of net/http for the header, and setting them anew for each read would be much of what this package costs.
//
// An attempt only writes down since when it waits. No change of that can make it late within the shortest of the
// timeouts, so it suffices to look at all of them once in that time, and when the first of them will be late.
type watch struct {
	base     time.Time
	timeouts Timeouts // complete
	shortest time.Duration

	mu    sync.Mutex // guards below
	live  map[*attempt]struct{}
	timer *time.Timer
	armed bool
}

func newWatch(t Timeouts) *watch {
	w := &watch{base: time.Now().Add(-1), timeouts: t, shortest: min(t.Header, t.BodyIdle), live: make(map[*attempt]struct{})}
	if !t.NoCall {
		w.shortest = min(w.shortest, t.Call)
	}
	return w
}

// now is the time since just before the client was made, and so never 0.
func (w *watch) now() time.Duration { return time.Since(w.base) }

// add begins to watch a, which began at now.
func (w *watch) add(a *attempt, now time.Duration) {
	a.until = never
	if !w.timeouts.NoCall {
		a.until = now + w.timeouts.Call
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[a] = struct{}{}
	if !w.armed {
		w.armLocked(w.shortest)
	}
}

func (w *watch) remove(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, a)
}

// all is every attempt that is under way.
func (w *watch) all() []*attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*attempt, 0, len(w.live))
	for a := range w.live {
		all = append(all, a)
	}
	return all
}

func (w *watch) armLocked(d time.Duration) {
	w.armed = true
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.look)
	} else {
		w.timer.Reset(d)
	}
}

// look ends the attempts that are late.
func (w *watch) look() {
	late := make(map[*attempt]*ended.LateError)
	w.mu.Lock()
	now := w.now()
	next := now + w.shortest
	for a := range w.live {
		at, why := a.deadline(&w.timeouts)
		if at > now {
			next = min(next, at)
			continue
		}
		late[a] = why
		delete(w.live, a)
	}
	if w.armed = len(w.live) > 0; w.armed {
		w.armLocked(next - now)
	}
	w.mu.Unlock()
	for a, why := range late {
		a.expire(why)
	}
}

// deadline is when a will be late if nothing changes, and by which timeout.
func (a *attempt) deadline(t *Timeouts) (time.Duration, *ended.LateError) {
	at, why := a.until, ended.LateError{Setting: "Timeouts.Call", After: t.Call}
	switch a.phase() {
	case PhaseHeader:
		if since := a.sent.Load(); since != 0 && time.Duration(since)+t.Header < at {
			at, why = time.Duration(since)+t.Header, ended.LateError{Setting: "Timeouts.Header", After: t.Header}
		}
	case PhaseBody:
		if since := a.reading.Load(); since != 0 && time.Duration(since)+t.BodyIdle < at {
			at, why = time.Duration(since)+t.BodyIdle, ended.LateError{Setting: "Timeouts.BodyIdle", After: t.BodyIdle}
		}
	case PhasePrepare, PhaseConnect, PhaseTLS, PhaseSend: // net/http has timeouts of its own for two of them
	}
	return at, &why
}
