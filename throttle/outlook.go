package throttle

// WindowUse is how much of a window is taken.
type WindowUse struct {
	Window Window
	Spent  int64 // units that count against it now
	Left   int64 // units that would fit now; below 0 where calls have settled for more than they had reserved
}

// Windows returns the use of each window of the limits in force, in their
// order.
func (l *Limiter) Windows() []WindowUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	uses := make([]WindowUse, len(l.gauges))
	for i := range l.gauges {
		g := &l.gauges[i]
		spent := g.Spent(now)
		uses[i] = WindowUse{Window{g.Window}, spent, g.Max - spent}
	}
	return uses
}

// Bound returns what holds a call of cost c back now: what holds back the head
// of the queue or, if nobody waits, the call itself. Kind is NotBound if it
// would go at once. A cost that never fits is for Check.
func (l *Limiter) Bound(c Cost) Bound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boundForLocked(l.nowLocked(), c)
}

func (l *Limiter) boundForLocked(now instant, c Cost) Bound {
	var n load
	n.set(&c)
	if head := l.queue.head; head != nil {
		n = head.load
	}
	h, _ := l.limitsHoldLocked(now, now, &n.of)
	if h.wait == 0 && l.governor != nil {
		h = l.governedLocked(now, n.cost, h)
	}
	return l.boundLocked(h)
}
