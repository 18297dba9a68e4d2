package clock

import (
	"sync"
	"time"
	"weak"

	"github.com/jonboulle/clockwork"
)

// Alarms ring after a while, all by one timer. It is for what hardly ever
// goes off: a timer of its own for each would wake the runtime's poller whenever it
// is the next one due. The timer is left to go off for nothing, and does not keep the
// Alarms in memory: alarms must not outlive them. Another clock than the real one has
// no timer while no alarm is set, as tests count them. The zero Alarms goes by the
// real clock. It is safe for concurrent use.
type Alarms struct {
	Clock *Clock // nil: the real one

	mu          sync.Mutex // guards what follows
	first, last *Alarm     // by when they are due
	timer       clockwork.Timer
	due         time.Duration // when the timer goes off; 0: it is not set
}

// Ringer is what an Alarm is for.
type Ringer interface {
	// Ring is called on a goroutine that other alarms wait for.
	Ring()
}

// Alarm is one of Alarms. The zero Alarm is not set.
type Alarm struct {
	To Ringer

	// Guarded by the lock of Alarms.
	due           time.Duration
	before, after *Alarm
	set           bool
}

// Set has o.To rung after d, and returns the time by the clock. o must not be set.
func (a *Alarms) Set(o *Alarm, d time.Duration) (now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Clock == nil {
		c := New(nil)
		a.Clock = &c
	}
	now = a.Clock.Elapsed()
	o.due, o.set = now+max(d, 1), true
	before := a.last
	for before != nil && before.due > o.due {
		before = before.before
	}
	o.before = before
	if before != nil {
		o.after, before.after = before.after, o
	} else {
		o.after, a.first = a.first, o
	}
	if o.after != nil {
		o.after.before = o
	} else {
		a.last = o
	}
	a.armLocked(now)
	return now
}

// Clear takes o back, and reports whether it was set and will not ring.
func (a *Alarms) Clear(o *Alarm) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.removeLocked(o)
}

func (a *Alarms) removeLocked(o *Alarm) bool {
	if !o.set {
		return false
	}
	if o.before != nil {
		o.before.after = o.after
	} else {
		a.first = o.after
	}
	if o.after != nil {
		o.after.before = o.before
	} else {
		a.last = o.before
	}
	o.before, o.after, o.set = nil, nil, false
	if a.first == nil && a.due != 0 && !a.Clock.Real() {
		a.timer.Stop()
		a.due = 0
	}
	return true
}

// armLocked sets the timer for the first.
func (a *Alarms) armLocked(now time.Duration) {
	if a.first == nil || a.due != 0 && a.due <= a.first.due {
		return
	}
	a.due = a.first.due
	if d := max(0, a.due-now); a.timer == nil {
		weakly := weak.Make(a)
		a.timer = a.Clock.AfterFunc(d, func() {
			if a := weakly.Value(); a != nil {
				a.ring()
			}
		})
	} else {
		a.timer.Reset(d)
	}
}

// ring rings what is due.
func (a *Alarms) ring() {
	a.mu.Lock()
	now := a.Clock.Elapsed()
	var due []Ringer
	for a.first != nil && a.first.due <= now {
		due = append(due, a.first.To)
		a.removeLocked(a.first)
	}
	a.due = 0
	a.armLocked(now)
	a.mu.Unlock()
	for _, to := range due {
		to.Ring()
	}
}
