package throttle

import (
	"cmp"
	"slices"
	"time"
)

// candidate is what the limiter serves next: a caller of its own queue or a
// joint call.
type candidate struct {
	w    *waiter
	part *part
}

// entry is a call that stands ahead of the candidate and waits elsewhere.
type entry struct {
	joint   *joint // nil: a caller of the limiter's own queue
	load    *load
	blocked *Limiter
	turn    bool
	claims  bool
	room    time.Time
	never   bool
	insists time.Time // until then it is not overtaken
}

func (j *joint) entry() entry {
	return entry{j, &j.load, j.blocked, j.turn, j.claims, j.room, j.never, j.insists.until}
}

// behind is the entry of a call that cannot overtake a, and waits for what a waits for.
func (a entry) behind(j *joint, n *load) entry {
	a.joint, a.load, a.claims = j, n, false
	return a
}

// candidateLocked returns the first call, in the order of arrival, that waits
// for this limiter and may overtake all that stand before it. The call self, if
// there is one, counts as waiting here. The entries are valid until the next call.
func (l *Limiter) candidateLocked(now instant, self *joint) (c candidate, ahead []entry) {
	ahead = l.ahead[:0]
	defer func() { l.ahead = ahead }()
	w := l.queue.head
	if w != nil && w.order == 0 { // it has just come to the head of its line
		l.arrivals++
		w.order = l.arrivals
	}
	for i := 0; w != nil || i < len(l.fronts); {
		var j *joint
		var n *load
		if own := w != nil && (i == len(l.fronts) || w.before(l.fronts[i])); own {
			c, n = candidate{w: w}, &w.load
		} else {
			j = l.fronts[i].joint
			c, n = candidate{part: l.fronts[i]}, &j.load
			i++
		}
		if j != nil && j != self && j.blocked != l {
			ahead = append(ahead, j.entry())
			continue
		}
		b := slices.IndexFunc(ahead, func(a entry) bool { return !l.mayPassLocked(now, j, n, &a) })
		if b < 0 {
			return c, ahead
		}
		ahead = append(ahead, ahead[b].behind(j, n))
		if j != nil && self == nil && !j.turn {
			l.tryLaterLocked(j) // it has to be known elsewhere that it waits for its turn
		}
		if j == nil {
			w = nil // those behind it wait for the same
		}
	}
	return candidate{}, ahead
}

// mayPassLocked reports whether a call of load n, which is j if that is not nil,
// may overtake a in this limiter: a waits for another limiter that the call does
// not need, and if a lacked room after it had been overtaken, there is room for
// a here again before there is room in the other one. A call never waits behind
// a younger one that waits for its turn itself, so that calls cannot wait for
// each other in a circle.
func (l *Limiter) mayPassLocked(now instant, j *joint, n *load, a *entry) bool {
	if a.blocked == nil || a.blocked == l {
		return false
	}
	if a.turn && a.joint != nil && j != nil && j.id < a.joint.id {
		return true
	}
	if j != nil && slices.Contains(j.order, a.blocked) {
		return false
	}
	older := j != nil && a.joint != nil && j.id < a.joint.id // so that claims do not wait for each other
	switch {
	case older, !a.claims, a.turn:
		return true
	case a.never:
		return !l.clock.At(now).Before(a.insists)
	}
	again := l.waitAfterLocked(now, &n.of, a.load)
	return again != Forever && !l.clock.At(now+again).After(a.room)
}

// waitAfterLocked is how long a has to wait here if x is admitted now.
func (l *Limiter) waitAfterLocked(now instant, x *amounts, a *load) time.Duration {
	wait := max(0, l.paused-now)
	for i := range l.gauges {
		g := &l.gauges[i]
		n := a.of[g.Unit]
		if n == 0 {
			continue
		}
		w := Window{g.Window}
		both := min(n+x[g.Unit], w.Max())
		after := g.Wait(now, both)
		if over := n + x[g.Unit] - both; over > 0 && w.Kind() == SlidingWindow {
			after = max(after, w.Per()) // what is taken now has to leave the window first
		} else if over > 0 {
			after += time.Duration(float64(over) / w.Rate() * float64(time.Second))
		}
		wait = max(wait, after)
	}
	if l.limit > 0 && l.inFlight+2 > l.limit {
		return Forever
	}
	return wait
}

// before reports whether w stands ahead of p.
func (w *waiter) before(p *part) bool {
	return cmp.Or(cmp.Compare(w.place, p.place), cmp.Compare(w.order, p.order)) < 0
}

// addFrontLocked queues the first call of a line. Lines are served in turn, so
// it stands behind those that came before, however long it has waited in line.
func (l *Limiter) addFrontLocked(p *part) {
	l.arrivals++
	p.order = l.arrivals
	if p.since == 0 {
		p.since = l.nowLocked()
	}
	i, _ := slices.BinarySearchFunc(l.fronts, p, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.order, b.order))
	})
	l.fronts = slices.Insert(l.fronts, i, p)
}

func (l *Limiter) removeFrontLocked(p *part) {
	if i := slices.Index(l.fronts, p); i >= 0 {
		l.fronts = slices.Delete(l.fronts, i, i+1)
	}
}

// pumpFrontsLocked is pumpLocked where joint calls wait too. It stops at one that
// may be admitted, which is tried when the lock is given up.
func (l *Limiter) pumpFrontsLocked(now instant) {
	from := l.creditLocked(now)
	if l.recheck {
		l.recheck = false
		for _, j := range l.heads {
			for ; j != nil; j = j.next {
				if l.refusalLocked(now, &j.load.of) != nil {
					l.tryLaterLocked(j)
				}
			}
		}
	}
	l.tryDueLocked(now)
	for l.untried.Load() == 0 { // each try serves this queue again
		c, ahead := l.candidateLocked(now, nil)
		switch {
		case c.w != nil:
			err := l.refusalLocked(now, &c.w.load.of)
			if err == nil {
				h, credited := l.holdLocked(now, max(from, c.w.since), &c.w.load)
				if h.wait > 0 {
					l.wakeLocked(now, h.wait)
					return
				}
				from = credited
				l.lent = max(l.lent, now-credited)
				c.w.permit = l.admitLocked(now, credited, &c.w.load, c.w.keeps)
				for _, a := range ahead {
					if a.joint != nil {
						a.joint.overtaken.Store(true)
					}
				}
			}
			l.serveLocked(now, c.w, err)
		case c.part != nil:
			j := c.part.joint
			if l.refusalLocked(now, &j.load.of) == nil {
				if h, _ := l.holdLocked(now, max(from, c.part.since), &j.load); h.wait > 0 {
					l.wakeLocked(now, h.wait)
					if j.turn {
						l.tryLaterLocked(j) // it waits for room now
					}
					return
				}
			}
			l.due = from
			l.tryLaterLocked(j)
			return
		default:
			l.wakeLocked(now, l.claimedLocked(now, ahead))
			if l.governor != nil && l.queue.head == nil {
				l.governor.Slack(l.clock.At(now))
			}
			return
		}
	}
}

// tryDueLocked has calls tried that waited for room in another limiter until
// now, so that they come here before the queue uses the limiter up.
func (l *Limiter) tryDueLocked(now instant) {
	at := l.clock.At(now)
	if !l.awaits || l.awaited.After(at) {
		return
	}
	l.awaits = false
	for _, j := range l.heads {
		switch {
		case j.blocked == l || j.turn || j.never:
		case j.room.After(at):
			l.noteRoomLocked(j.room)
		default: // what it waits for then is noted when it is tried
			l.tryLaterLocked(j)
		}
	}
}

// noteRoomLocked notes that a call waits for room in another limiter until at.
func (l *Limiter) noteRoomLocked(at time.Time) {
	if !l.awaits || at.Before(l.awaited) {
		l.awaits, l.awaited = true, at
	}
}

// noteRoomLocked has the other limiters of j try it when there is room where it is blocked.
func (j *joint) noteRoomLocked() {
	if j.turn || j.never {
		return
	}
	for _, l := range j.order {
		if l != j.blocked {
			l.noteRoomLocked(j.room)
		}
	}
}

// claimedLocked is when to look again because of calls that have a claim here.
func (l *Limiter) claimedLocked(now instant, ahead []entry) time.Duration {
	wait := Forever
	for _, a := range ahead {
		switch {
		case !a.claims, a.turn:
		case !a.never:
			wait = min(wait, max(time.Millisecond, l.clock.Until(a.room)-now))
		case l.clock.Until(a.insists) > now:
			wait = min(wait, l.clock.Until(a.insists)-now)
		}
	}
	return wait
}

// overtakeLocked notes that a call was admitted which did not wait.
func (l *Limiter) overtakeLocked() {
	for _, p := range l.fronts {
		if p.joint.blocked != l {
			p.joint.overtaken.Store(true)
		}
	}
}

// newcomerHoldLocked is what holds back a call that does not wait where joint
// calls do: those that it may not overtake, or the limits.
func (l *Limiter) newcomerHoldLocked(now instant, a *amounts) (h hold) {
	n := load{of: *a, cost: a.cost()}
	c, ahead := l.candidateLocked(now, nil)
	switch {
	case c.w != nil:
		h, _ = l.holdLocked(now, now, &c.w.load)
	case c.part != nil:
		h, _ = l.holdLocked(now, now, &c.part.joint.load)
	default:
		for i := range ahead {
			if !l.mayPassLocked(now, nil, &n, &ahead[i]) {
				return hold{wait: 1, kind: BoundByConcurrency}
			}
		}
		h, _ = l.holdLocked(now, now, &n)
		return h
	}
	if h.wait == 0 {
		h = hold{wait: 1, kind: BoundByGovernor} // it was here first, and is about to be served
	}
	return h
}
