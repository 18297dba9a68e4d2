package throttle

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/meter"
)

// update runs f under the limiter's lock and then serves the queue.
func (l *Limiter) update(f func()) {
	l.lock()
	defer l.unlock()
	now := l.nowLocked()
	f()
	l.pumpLocked(now)
}

// SetLimits changes the limits in place. Admitted calls still count, calls
// in flight continue, and waiting calls that no longer fit fail with a
// *CostError. Invalid limits, and those in force, change nothing. docs/limits.md says what each
// window inherits.
func (l *Limiter) SetLimits(lim Limits) error {
	p := invalid.Problems{Owner: "throttle"}
	p.Add(lim.Validate())
	l.checkGuard(lim, &p)
	if err := p.Err(); err != nil {
		return err
	}
	l.setLimits(lim)
	l.tell(event.LimiterChanged, 0, fmt.Sprint(lim), nil)
	return nil
}

func (l *Limiter) setLimits(lim Limits) {
	l.lock()
	defer l.unlock()
	now := l.nowLocked()
	if l.hasWindowsLocked(lim) {
		l.limit = lim.Concurrency
		l.pumpLocked(now)
		return
	}
	old := l.gauges
	for i := range old {
		if b := old[i].Bucket; b != nil { // a larger burst would make credit of what is still out
			b.Owe(now, l.lent)
		}
	}
	l.fitLocked(lim)
	for i := range l.gauges {
		l.gauges[i].Inherit(now, old, i)
		if l.lent > 0 && l.gauges[i].Bucket != nil {
			l.gauges[i].Seal(l.seq) // what they took was partly credit: it cannot be given back any more
		}
	}
	l.lent = 0
	l.charged, l.recheck = now, true
	for w := l.queue.head; w != nil; {
		next := w.next
		if err := l.refusalLocked(now, &w.load.of); err != nil {
			l.serveLocked(now, w, err)
		}
		w = next
	}
	l.pumpLocked(now)
}

// hasWindowsLocked reports whether the windows of lim are those in force. Then none
// has to inherit anything, which costs a bucket that has given credit its units.
func (l *Limiter) hasWindowsLocked(lim Limits) bool {
	return slices.EqualFunc(lim.Windows, l.gauges, func(w Window, g meter.Gauge) bool { return w.spec == g.Window })
}

// fitLocked gives the limiter windows without a history.
func (l *Limiter) fitLocked(lim Limits) {
	l.limit, l.gauges = lim.Concurrency, make([]meter.Gauge, len(lim.Windows))
	l.most = [Units]uint64{MaxAmount, MaxAmount, MaxAmount, MaxAmount, MaxAmount}
	for i, w := range lim.Windows {
		l.gauges[i] = meter.New(w.spec, l.clock.At(0), l.guard, l.seq)
		l.most[w.spec.Unit] = min(l.most[w.spec.Unit], uint64(w.spec.Max)) //nolint:gosec // it is positive
	}
	l.simple = l.isSimple(lim)
	l.fast.Store(nil)
}

// Limits returns the limits in force.
func (l *Limiter) Limits() Limits {
	l.lock()
	defer l.unlock()
	return l.limitsLocked()
}

func (l *Limiter) limitsLocked() Limits {
	lim := Limits{Concurrency: l.limit}
	for i := range l.gauges {
		lim.Windows = append(lim.Windows, Window{l.gauges[i].Window})
	}
	return lim
}

// SetConcurrency changes the concurrency limit; 0 means none. Calls above a
// lowered limit finish, and none is admitted until fewer are in flight.
func (l *Limiter) SetConcurrency(n int) error {
	p := invalid.Problems{Owner: "throttle"}
	checkConcurrency(n, &p)
	if err := p.Err(); err != nil {
		return err
	}
	l.update(func() { l.limit = n })
	l.tell(event.LimiterChanged, 0, fmt.Sprint(l.Limits()), nil)
	return nil
}
