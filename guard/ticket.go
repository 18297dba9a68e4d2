package guard

import (
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// ticket is what one Take has taken. Calls inside of an attempt may take over
// parts of it, so it is ended in the store when the last part is.
type ticket struct {
	layers []*Guard // by demand
	taken  quota.Ticket

	mu     sync.Mutex // guards everything below
	actual []throttle.Cost
	open   int  // demands that have not ended
	sent   bool // one of them counts
}

// claim is an attempt's part in a ticket. The zero claim refers to no ticket.
type claim struct {
	ticket *ticket
	demand int
}

// newTicket begins to renew the ticket if it is a lease.
func newTicket(d *demanded, taken quota.Ticket) *ticket {
	taken.Demands = d.request.Demands // whatever the store says of them
	t := &ticket{layers: d.layers, taken: taken, actual: make([]throttle.Cost, len(d.layers)), open: len(d.layers)}
	if taken.Leased() {
		t.layers[0].share.leases.add(t)
	}
	return t
}

// end ends the claim with what its call cost. unsent gives everything back.
func (c claim) end(used throttle.Cost, unsent bool) {
	t := c.ticket
	if used == (throttle.Cost{}) && !unsent {
		used = t.taken.Demands[c.demand].Cost
	}
	t.mu.Lock()
	t.actual[c.demand] = used
	t.open--
	t.sent = t.sent || !unsent
	last := t.open == 0
	t.mu.Unlock()
	if last {
		t.end()
	}
}

// end ends the ticket in the store. If the store answers, it does so before the local slots go to calls that would ask for it
// too soon. A lease is renewed until the store has confirmed its end.
func (t *ticket) end() {
	home, leased := t.layers[0].share, t.taken.Leased()
	actual := t.actual
	if t.sent && t.asReserved() {
		if !leased {
			return // the store counts it as it is
		}
		actual = nil
	}
	home.tellEnd(t.taken, !t.sent, actual, func() {
		if leased {
			home.leases.remove(t)
		}
		for _, l := range t.layers {
			l.tell()
		}
	})
}

func (t *ticket) asReserved() bool {
	for i := range t.actual {
		for u := range throttle.Units {
			if t.actual[i].Of(u) != t.taken.Demands[i].Cost.Of(u) {
				return false
			}
		}
	}
	return true
}

// claims are those of an attempt, by part. They do not change while it is in progress.
type claims []claim

func (k *attempt) claim(i int) claim {
	if k.claims == nil {
		return claim{}
	}
	return (*k.claims)[i]
}

func (k *attempt) setClaim(i int, c claim) {
	if k.claims == nil {
		all := make(claims, len(k.parts))
		k.claims = &all
	}
	(*k.claims)[i] = c
}

// hold gives the demands of t to the parts of k.
func (k *attempt) hold(t *ticket, parts []int) {
	for demand, i := range parts {
		k.setClaim(i, claim{t, demand})
	}
}

// inherit gives part i the claim of an enclosing attempt on the same layer. If
// that attempt has given its permit back because it did not cover this call,
// so is the claim; or if it cannot be, since it is one of several in the ticket,
// it is kept and settled when this call ends.
func (k *attempt) inherit(i int, from *attempt, covered bool) {
	if from.claims == nil {
		return
	}
	for j := range from.parts {
		c := from.claim(j)
		if from.parts[j].guard != k.parts[i].guard || c.ticket == nil {
			continue
		}
		if covered || len(c.ticket.layers) > 1 {
			k.setClaim(i, c)
		} else {
			c.end(throttle.Cost{}, true)
		}
	}
}

// disclaim ends the claim of part i, which was not admitted.
func (k *attempt) disclaim(i int) {
	if c := k.claim(i); c.ticket != nil {
		c.end(throttle.Cost{}, true)
		k.setClaim(i, claim{})
	}
}

// finishShared reports to the store how an attempt ended, before it is ended here. Claims that a nested call has taken over
// were ended by it.
func (k *attempt) finishShared(f *adaptive.Feedback) {
	learner := k.call.guard.learner
	for i := range k.parts {
		p := &k.parts[i]
		handed := p.handed != nil // the attempt is closed: it stays so
		if p.guard == learner && learner.share != nil && refused(f.Verdict) && (!handed || !f.Final) {
			if d := learner.refusedFor(f); d > 0 {
				learner.share.cool(d)
			}
		}
		if c := k.claim(i); c.ticket != nil && !handed {
			k.setClaim(i, claim{})
			c.end(f.Used, f.Verdict == adaptive.Unsent)
		}
	}
}

// refusedFor returns how long the refusal f asks every process to wait. It is no longer than until the next probe, because a
// cooldown cannot be withdrawn.
func (g *Guard) refusedFor(f *adaptive.Feedback) (d time.Duration) {
	if !tooLong(f) {
		return f.RetryAfter
	}
	g.look(func(now time.Time) {
		if !g.governor.closed.Doubts(now) {
			d = reopening.FirstLook
		}
	})
	return d
}
