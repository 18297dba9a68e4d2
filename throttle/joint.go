package throttle

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// joint is a call that several limiters have to admit at one instant. While it
// waits it holds nothing. It stands in the queue of its first limiter and moves
// on to that of the next when all before have room, so that an outer limiter
// sees one candidate for each line of an inner one and serves lines in turn.
//
// It is changed with the locks of all its limiters held, so any one of them is
// enough to read it.
type joint struct {
	id    int64      // grows with each call: the smaller one has waited longer
	parts []part     // the most specific limiter first
	order []*Limiter // the same limiters, in the order of their locks
	load  load
	line  *line
	next  *joint // in the line
	at    int    // it is queued in parts[:at+1]; -1: it stands in line
	ready chan struct{}
	ended bool
	err   error

	// What kept it from being admitted when it was last tried.
	blocked *Limiter
	turn    bool      // it waits for its turn there; otherwise for room
	room    time.Time // when there may be room
	never   bool      // time alone does not make room

	came      int64       // grows with each call that becomes the first of its line
	untried   atomic.Bool // it is about to be tried
	overtaken atomic.Bool // by another call, since it was last tried; any one lock is enough to set it
	claims    bool        // it lacked room after it had been overtaken
	insists   insistence
}

// part is the place of a joint call in one limiter.
type part struct {
	limiter *Limiter
	index   int // of the limiter among those given
	joint   *joint
	place   int64   // as of a waiter
	order   int64   // of its arrival in the queue
	since   instant // it is at the front of the limiter
	asked   instant // it waits
	permit  Permit
}

// acquireAll blocks until all limiters admit c at one instant, and fills in
// permits, one for each. places are the sequence numbers of an earlier admission
// of the call, 0 for none; nil if there was none. o may be nil. The errors are those of
// Acquire; with an error nothing was taken. limiters has no duplicates.
func acquireAll(ctx context.Context, limiters []*Limiter, c Cost, places []int64, permits []Permit, o onlooker) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var j *joint
	returned := false
	defer func() {
		if !returned { // o or a governor has ended the goroutine
			j.giveUp(permits)
		}
	}()
	err := enterAll(ctx, limiters, c, places, permits, &j)
	if j != nil {
		if o != nil {
			o.Queued()
		}
		if err = j.stand(ctx); err == nil {
			j.fill(permits)
		}
	}
	returned = true
	return err
}

// fill puts the permits of j into the places of its limiters.
func (j *joint) fill(permits []Permit) {
	for i := range j.parts {
		permits[j.parts[i].index] = j.parts[i].permit
	}
}

// giveUp gives up the places or the permits of j. A call that was admitted at once is nil, and has permits.
func (j *joint) giveUp(permits []Permit) {
	if j != nil {
		if j.leave(nil) || j.err != nil {
			return
		}
		j.fill(permits)
	}
	cancel(permits)
}

// cancel cancels all permits, also if a governor ends the goroutine at one of them.
func cancel(permits []Permit) {
	if len(permits) > 0 {
		defer cancel(permits[1:])
		permits[0].Cancel()
	}
}

// enterAll admits a call at once, or sets waits to the one that waits.
func enterAll(ctx context.Context, limiters []*Limiter, c Cost, places []int64, permits []Permit, waits **joint) error {
	var n load
	n.set(&c)
	var few [4]*Limiter
	order := locked(few[:0], limiters)
	defer unlockAll(order)
	for _, l := range limiters {
		if err := l.refusalLocked(l.nowLocked(), &n.of); err != nil {
			return err
		}
	}
	if admitted(limiters, &n, permits) {
		return nil
	}
	j := newJoint(slices.Clone(limiters), slices.Clone(order), n, places)
	if err := j.enterLocked(ctx); err != nil {
		return err
	}
	*waits = j
	return nil
}

// tryAcquireAll is acquireAll for a call that does not wait: if limiters do not
// admit it now, the error is the one that asks for the longest wait.
func tryAcquireAll(limiters []*Limiter, c Cost, permits []Permit) error {
	var n load
	n.set(&c)
	var few [4]*Limiter
	order := locked(few[:0], limiters)
	defer unlockAll(order)
	var longest *LimitedError
	for _, l := range limiters {
		now := l.nowLocked()
		h, err := l.tryLocked(now, &n)
		if err != nil {
			return err
		}
		if h.wait == 0 {
			continue
		}
		if e := l.limitedLocked(now, &n.of, h, lineOf(order)); longest == nil || e.RetryAfter > longest.RetryAfter {
			longest = e
		}
	}
	if longest != nil {
		return longest
	}
	for _, l := range limiters {
		l.overtakeLocked()
	}
	admitAll(limiters, &n, permits)
	return nil
}

// admitted admits a call if no limiter has a queue and all have room.
func admitted(limiters []*Limiter, n *load, permits []Permit) bool {
	for _, l := range limiters {
		now := l.nowLocked()
		l.catchUpLocked(now)
		if l.queue.head != nil || len(l.fronts) > 0 {
			return false
		}
		if h, _ := l.holdLocked(now, now, n); h.wait > 0 {
			return false
		}
	}
	admitAll(limiters, n, permits)
	return true
}

func admitAll(limiters []*Limiter, n *load, permits []Permit) {
	all := 0
	defer func() {
		if all < len(limiters) { // a governor has ended the goroutine
			for i, l := range limiters[:all] {
				l.freeLocked(permits[i].slot)
			}
		}
	}()
	for i, l := range limiters {
		now := l.nowLocked()
		permits[i] = l.admitLocked(now, now, n, true)
		all++
	}
}

// locked locks limiters and appends them to order, in the order of their locks.
func locked(order, limiters []*Limiter) []*Limiter {
	for _, l := range limiters {
		i := len(order)
		for i > 0 && order[i-1].id > l.id {
			i--
		}
		order = slices.Insert(order, i, l)
	}
	for _, l := range order {
		l.lock()
	}
	return order
}

// unlockAll gives the locks up and then tries the joint calls that may be admitted now.
func unlockAll(order []*Limiter) { tryAgain(release(order, nil)) }

// release gives the locks up and appends the calls to try.
func release(order []*Limiter, tries []*joint) []*joint {
	for _, l := range slices.Backward(order) {
		tries = append(tries, l.tries...)
		l.tries = nil
		l.mu.Unlock()
	}
	return tries
}

var jointIDs atomic.Int64 //nolint:gochecknoglobals // it orders calls that no limiter has in common

func newJoint(limiters, order []*Limiter, n load, places []int64) *joint {
	j := &joint{id: jointIDs.Add(1), parts: make([]part, len(limiters)), order: order, load: n, at: -1}
	for i, l := range limiters {
		j.parts[i] = part{limiter: l, index: i, joint: j, place: lastPlace}
		if i < len(places) && places[i] != 0 {
			j.parts[i].place = places[i]
		}
	}
	return j
}

func (j *joint) lock() {
	for _, l := range j.order {
		l.lock()
	}
}

// unlock gives the locks up and then tries the calls that may be admitted now.
func (j *joint) unlock() { unlockAll(j.order) }

// unlock gives up the lock and then tries the joint calls that may be admitted now.
func (l *Limiter) unlock() {
	if l.tries == nil {
		l.mu.Unlock()
		return
	}
	tries := l.tries
	l.tries = nil
	l.mu.Unlock()
	tryAgain(tries)
}

func tryAgain(tries []*joint) {
	pause := afterExit
	defer func() {
		if len(tries) > 0 { // a governor has ended the goroutine, or the calls wait for each other
			left := tries // so that only these are allocated
			left[0].order[0].clock.AfterFunc(pause, func() { tryAgain(left) })
		}
	}()
	for vain := 0; len(tries) > 0; vain++ {
		if vain > mostVain+4*len(tries) {
			if vain = 0; !anyRoom(&tries) {
				pause = circling
				return
			}
		}
		j := tries[0]
		tries = tries[1:]
		if j.try(&tries) {
			vain = 0
		}
	}
}

// enterLocked queues j, unless it would wait in vain.
func (j *joint) enterLocked(ctx context.Context) error {
	j.joinLocked()
	for i := range j.parts {
		p := &j.parts[i]
		l := p.limiter
		now := l.nowLocked()
		if err := l.tooLateLocked(ctx, now, &j.load.of, p.place, j.line); err != nil {
			return err
		}
		if err := l.fullLocked(now, &j.load, p.place, j.line); err != nil {
			return err
		}
	}
	j.ready = make(chan struct{}, 1)
	j.queueLocked()
	return nil
}

// refusalLocked is why one of the limiters turns j away at once.
func (j *joint) refusalLocked() error {
	for i := range j.parts {
		l := j.parts[i].limiter
		if err := l.refusalLocked(l.nowLocked(), &j.load.of); err != nil {
			return err
		}
	}
	return nil
}

// admitLocked takes from all limiters.
func (j *joint) admitLocked() {
	all := 0
	defer func() {
		if !j.ended { // a governor has ended the goroutine
			for i := range j.parts[:all] {
				j.parts[i].limiter.freeLocked(j.parts[i].permit.slot)
			}
		}
	}()
	for i := range j.parts {
		p := &j.parts[i]
		l := p.limiter
		now := l.nowLocked()
		_, credited := l.limitsHoldLocked(now, max(l.creditLocked(now), p.since), &j.load.of) // see head.go
		l.lent = max(l.lent, now-credited)
		l.due = credited
		l.stats.addWait(now - p.asked)
		p.permit = l.admitLocked(now, credited, &j.load, true)
		all++
	}
	j.ended = true
}

// stand waits until j is admitted or refused, or ctx ends.
func (j *joint) stand(ctx context.Context) error {
	select {
	case <-j.ready:
		return j.err
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); j.leave(cause) {
		return cause
	}
	return j.err // it was served in the same moment
}

// leave takes j out of all queues because of cause; false if it has been served.
func (j *joint) leave(cause error) bool {
	j.lock()
	defer j.unlock()
	if j.ended {
		return false
	}
	j.parts[0].limiter.stats.addEnd(cause)
	j.leaveLocked()
	j.pumpLocked()
	return true
}

// endLocked takes j out of all queues and lets its caller go on.
func (j *joint) endLocked(err error) {
	j.err = err
	j.leaveLocked()
	j.ready <- struct{}{}
}

// leaveLocked takes j out of all queues. The next in its line comes forward.
func (j *joint) leaveLocked() {
	j.ended = true
	for i := range j.parts[:j.at+1] {
		j.parts[i].limiter.removeFrontLocked(&j.parts[i])
	}
	for _, l := range j.order {
		l.joined--
	}
	j.forgetHeadLocked()
	if j.line.remove(j) {
		j.line.forwardLocked()
	}
}

// pumpLocked serves the queues of all limiters of j.
func (j *joint) pumpLocked() {
	for _, l := range j.order {
		l.pumpLocked(l.nowLocked())
	}
}
