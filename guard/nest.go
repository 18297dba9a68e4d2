package guard

import (
	"context"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

// takeOver gets what enclosing calls hold of the same layers. A call that would
// be turned away at once gets nothing. After the end of the intake it gets what
// needs no admission: the call around it goes on.
func (c *Call) takeOver(ctx context.Context, k *attempt) {
	outer := attemptOf(ctx)
	if outer == nil || ctx.Err() != nil {
		return
	}
	ended := intake.Ended(ctx) != nil
	for i := range k.parts {
		p := &k.parts[i]
		if p.guard.throttle.Check(c.cost) != nil {
			continue
		}
		for o := outer; o != nil; o = attemptOf(o.Context) { //nolint:contextcheck // outwards
			if l := o.call.loose; l != nil && l.guard == p.guard && len(o.parts) == 0 {
				l.leave()
				continue
			}
			permit, place, covered := o.hand(p.guard, c.cost, ended)
			switch {
			case covered:
				p.permit, p.outer = permit, o
				k.inherit(i, o, true)
			case place != 0:
				o.surrender(p.guard, permit)
				k.inherit(i, o, false)
				c.place(k, i, place)
			default:
				continue
			}
			if p.outer != nil && o.queued > 0 && c.wait.queued >= 0 {
				c.wait.queued += o.queued
			}
			break
		}
	}
}

// place notes the number of the first admission of layer i.
func (c *Call) place(k *attempt, i int, seq int64) {
	if c.wait.places == nil {
		c.wait.places = make([]int64, len(k.parts))
	}
	if c.wait.places[i] == 0 {
		c.wait.places[i] = seq
	}
}

// surrender gives back the permit of an enclosing call that a call inside
// cannot use.
func (k *attempt) surrender(l *Guard, p throttle.Permit) {
	f := adaptive.Feedback{Verdict: adaptive.Unsent}
	var r result
	l.end(&r, p, &f, false)
	if l == k.call.guard.learner {
		l.emitEnd(k, &r, &f)
	}
}

// handBack returns what was taken over by an attempt that was not sent.
func (k *attempt) handBack() {
	for i := range k.parts {
		if k.parts[i].outer == nil {
			k.disclaim(i)
		} else {
			k.returnPart(i)
		}
	}
}

// returnPart returns the permit of part i to the call around this one. If that
// is over, its request counts: the permit ends as it was reserved.
func (k *attempt) returnPart(i int) {
	k.mu.Lock()
	p := k.parts[i]
	if p.handed == nil {
		k.parts[i] = part{guard: p.guard, ticket: p.ticket}
	}
	k.mu.Unlock()
	if p.handed != nil { // a call inside has it, and ends it
		return
	}
	back := p.outer.takeBack(p.guard)
	if c := k.claim(i); c.ticket != nil {
		if !back {
			c.end(throttle.Cost{}, false)
		}
		k.setClaim(i, claim{})
	}
	if !back {
		p.guard.giveUp(p.permit)
	}
}

// hand gives the permit of layer l to a call inside k that costs c. A permit is handed over once: the call inside then ends it
// and reports to the controller, and k no longer holds anything of l. If the reservation does not cover c, the permit is released
// and covered is false: the call inside takes the place of k in the queue. With whole, a permit that does not cover c
// is not handed over.
func (k *attempt) hand(l *Guard, c throttle.Cost, whole bool) (p throttle.Permit, place int64, covered bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	part := k.of(l)
	if k.over || part == nil || part.handed != nil {
		return p, 0, false
	}
	sent, live := l.sent(part.permit)
	if covered = covers(sent.Cost, c); !live || whole && !covered {
		return p, 0, false
	}
	part.handed = &sent
	return part.permit, sent.Seq, covered
}

// takeBack undoes hand for a call inside that was not admitted after all.
func (k *attempt) takeBack(l *Guard) (ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	part := k.of(l)
	if ok = !k.over && part != nil && part.handed != nil; ok {
		part.handed = nil
	}
	return ok
}

// covers reports whether a reservation is enough for a cost. The zero cost is
// that of the reservation.
func covers(reserved, cost throttle.Cost) bool {
	for u := range throttle.Units {
		if cost != (throttle.Cost{}) && cost.Of(u) > reserved.Of(u) {
			return false
		}
	}
	return true
}
