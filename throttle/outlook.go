package throttle

import "time"

// WindowUse is how much of a window is used.
type WindowUse struct {
	Window   Window
	Spent    int64         // units that count against it now
	Left     int64         // units that fit now; negative after calls that settled for more
	FreesIn  time.Duration // until Spent falls by at least a unit; 0 if it is 0
	ResetsIn time.Duration // until Spent is 0
}

// Windows returns the use of each window, in the order of the limits.
func (l *Limiter) Windows() []WindowUse {
	l.lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	uses := make([]WindowUse, len(l.gauges))
	for i := range l.gauges {
		g := &l.gauges[i]
		spent := g.Spent(now)
		frees, resets := g.Frees(now)
		uses[i] = WindowUse{Window{g.Window}, spent, g.Max - spent, frees, resets}
	}
	return uses
}

// Bound returns what holds back the head of the queue or, if no call waits, a
// call of cost c. Kind is NotBound if it would be admitted at once.
func (l *Limiter) Bound(c Cost) Bound {
	l.lock()
	defer l.mu.Unlock()
	return l.boundForLocked(l.nowLocked(), c)
}

func (l *Limiter) boundForLocked(now instant, c Cost) Bound {
	var n load
	n.set(&c)
	if head := l.queue.head; head != nil {
		n = head.load
	} else if len(l.fronts) > 0 {
		j := l.fronts[0].joint
		if j.blocked != nil && j.blocked != l {
			return l.elsewhereLocked(now, j)
		}
		n = j.load
	}
	h, _ := l.limitsHoldLocked(now, now, &n.of)
	if h.wait == 0 && l.governor != nil {
		h = l.governedLocked(now, n.cost, h)
	}
	return l.boundLocked(h)
}

// elsewhereLocked is what holds back a call that waits for another limiter.
func (l *Limiter) elsewhereLocked(now instant, j *joint) Bound {
	b := Bound{Kind: BoundByOther, Wait: Forever}
	if !j.turn && !j.never {
		b.Wait = max(0, l.clock.Until(j.room)-now)
	}
	return b
}
