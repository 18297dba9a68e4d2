package sqlitestore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// ledger is the keys of one transaction at one instant.
type ledger struct {
	q     *Quota
	clock quotaClock
	now   meter.Instant
	first bool // nothing was written before
	keys  map[string]*account
	used  bool     // the clock has to be written, as a ticket was given
	freed []string // keys of which something was given back
}

// mostShapes is how many shapes a call is compared with.
const mostShapes = 16

func newLedger(q *Quota) (*ledger, error) {
	l := &ledger{q: q, keys: map[string]*account{}}
	var text []byte
	found, err := q.tx.row([]any{&text}, readQuota, []byte{})
	if err != nil {
		return nil, err
	}
	if l.first = !found; found && !l.clock.read(text) {
		return nil, &sumError{of: "the clock of the limits"}
	}
	l.used = l.clock.tick(q.now().UnixNano())
	l.now, q.codec.Base = meter.Instant(l.clock.at), l.clock.base()
	return l, nil
}

// apply decides all asks. One that fails, because a key it needs is damaged,
// changes nothing. Calls that give something back come first.
func (l *ledger) apply(asks []*ask) {
	var shapes [][]*ask
	for _, a := range asks {
		if a.change != nil {
			a.err = l.q.file.explain(a.change(l))
			continue
		}
		latest := shapes[max(0, len(shapes)-mostShapes):]
		i := slices.IndexFunc(latest, func(s []*ask) bool { return sameShape(s[0].take, a.take) })
		if i < 0 {
			shapes = append(shapes, []*ask{a})
		} else {
			latest[i] = append(latest[i], a)
		}
	}
	for _, s := range shapes {
		l.takeAll(s)
	}
}

func sameShape(r, s *quota.Request) bool {
	return r.Lease == s.Lease && r.Peek == s.Peek && r.Uses == s.Uses &&
		slices.EqualFunc(r.Demands, s.Demands, func(d, e quota.Demand) bool {
			return d.Key == e.Key && d.Cost == e.Cost && d.Limits.Concurrency == e.Limits.Concurrency &&
				slices.Equal(d.Limits.Windows, e.Limits.Windows)
		})
}

// takeAll admits as many of these equal calls as fit, in their order.
func (l *ledger) takeAll(asks []*ask) {
	r := asks[0].take
	keys, err := l.under(r)
	if err != nil {
		for _, a := range asks {
			a.err = l.q.file.explain(err)
		}
		return
	}
	fits, token, later := 0, l.clock.token, quota.Grant{}
	for fits < len(asks) {
		if later = l.bound(r, keys); later.Wait > 0 {
			break
		}
		n := len(asks) - fits
		if !r.Peek {
			// A bucket rounds the sum of many calls differently from each one.
			n = max(1, l.fit(r, keys, n))
			l.charge(r, keys, n)
		}
		fits += n
	}
	var uses [][]throttle.WindowUse
	if r.Uses {
		for i, k := range keys {
			uses = append(uses, tally.Uses(l.now, r.Demands[i].Limits.Windows, k.Gauges))
		}
	}
	for i, a := range asks {
		switch {
		case i >= fits:
			a.grant = later
		case !r.Peek:
			token++
			a.grant.Ticket = quota.Ticket{At: int64(l.now), Token: token}
		}
		a.grant.Uses = uses
	}
	for _, k := range keys {
		if !k.found && !k.dirty {
			k.Key = meter.Key{} // the next limits are the first ones
		}
	}
}

// under returns the keys of r, which count under the limits of r from now on.
// For a Peek they are copies.
func (l *ledger) under(r *quota.Request) ([]*account, error) {
	keys := make([]*account, len(r.Demands))
	for i := range r.Demands {
		k, err := l.load(r.Demands[i].Key)
		if err != nil {
			return nil, err
		}
		keys[i] = k
		for _, w := range r.Demands[i].Limits.Windows {
			if err := l.q.codec.Knows(w.Anchor()); err != nil { // no process could read it
				return nil, stateError(k.name, err)
			}
		}
	}
	for i, k := range keys {
		if r.Peek {
			c := *k
			k, keys[i] = &c, &c
		}
		limits := &r.Demands[i].Limits
		changed := k.Under(l.now, limits.Concurrency, tally.Windows(limits.Windows), l.q.codec.Base, l.clock.token)
		k.dirty = k.dirty || changed && k.found
	}
	return keys, nil
}

// bound returns what the next call has to wait for, if anything.
func (l *ledger) bound(r *quota.Request, keys []*account) quota.Grant {
	var b meter.Bound
	for i, k := range keys {
		a := tally.Amounts(r.Demands[i].Cost)
		b.Later(i, k.Bound(l.now, &a))
	}
	return quota.Grant{Wait: b.Wait, Bound: tally.Bound(b, r.Demands[b.Demand].Limits), Demand: b.Demand}
}

// fit returns how many of n calls are admitted at this instant.
func (l *ledger) fit(r *quota.Request, keys []*account, n int) int {
	fits := int64(n)
	for i, k := range keys {
		a := tally.Amounts(r.Demands[i].Cost)
		fits = k.Fit(l.now, &a, fits)
	}
	return int(fits)
}

// charge takes what n calls demand, and gives them the next n tokens.
func (l *ledger) charge(r *quota.Request, keys []*account, n int) {
	l.used = true
	first := l.clock.token + 1
	l.clock.token += int64(n)
	for i, k := range keys {
		limits := &r.Demands[i].Limits
		if len(limits.Windows) == 0 && limits.Concurrency == 0 {
			continue // nothing to remember
		}
		k.dirty = true
		a := tally.Amounts(r.Demands[i].Cost)
		k.Gauges.Take(l.now, &a, int64(n))
		if limits.Concurrency > 0 {
			for j := range n {
				k.Hold(first+int64(j), l.after(r.Lease))
			}
		}
	}
}

// after is d from now, as far as instants reach.
func (l *ledger) after(d time.Duration) meter.Instant { return l.now + min(d, throttle.Forever-l.now) }

// end corrects the windows of t to what was used, and frees its slots.
func (l *ledger) end(t *quota.Ticket, used func(i int, reserved meter.Amounts) meter.Amounts) error {
	keys, held, err := l.holding(t)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if t.Demands[i].Limits.Concurrency > 0 && k.Free(t.Token) {
			k.dirty = true
		}
		l.freed = append(l.freed, k.name)
	}
	if !held {
		return fmt.Errorf("%w: ticket %s", quota.ErrLeaseLost, t.ID)
	}
	for i, k := range keys {
		d := &t.Demands[i]
		reserved := tally.Amounts(d.Cost)
		if used := used(i, reserved); used != reserved {
			if len(k.Gauges) == 0 { // a key that was forgotten can still be debited
				k.Under(l.now, d.Limits.Concurrency, tally.Windows(d.Limits.Windows), l.q.codec.Base, l.clock.token)
			}
			less := tally.Less(reserved, used)
			if k.Gauges.Settle(l.now, t.Token, meter.Instant(t.At), &less) {
				k.dirty = true
			}
		}
	}
	return nil
}

// holding returns the keys of t, and whether t has all its slots, if it needs any.
func (l *ledger) holding(t *quota.Ticket) (keys []*account, held bool, err error) {
	held = true
	for i := range t.Demands {
		k, err := l.load(t.Demands[i].Key)
		if err != nil {
			return nil, false, err
		}
		if t.Demands[i].Limits.Concurrency > 0 && k.Held(t.Token) == nil {
			held = false
		}
		keys = append(keys, k)
	}
	return keys, held, nil
}

// renew extends the leases of all tickets except those with a damaged key. The error names these keys.
func (l *ledger) renew(tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
	var damaged []error
	broken := map[string]bool{} // keys
	for i := range tickets {    // so that an error of the file changes nothing
		for j := range tickets[i].Demands {
			key := tickets[i].Demands[j].Key
			if broken[key] {
				continue
			}
			_, err := l.load(key)
			switch {
			case errors.As(err, new(*fault.FieldError)): // the state of this key only
				damaged, broken[key] = append(damaged, err), true
			case err != nil:
				return nil, err
			}
		}
	}
	for i := range tickets {
		t := &tickets[i]
		if !t.Leased() || slices.ContainsFunc(t.Demands, func(d quota.Demand) bool { return broken[d.Key] }) {
			continue
		}
		keys, held, err := l.holding(t)
		if err != nil {
			return nil, err
		}
		if !held {
			lost = append(lost, *t)
		}
		for j, k := range keys {
			slot := k.Held(t.Token)
			if t.Demands[j].Limits.Concurrency == 0 || slot == nil {
				continue
			}
			k.dirty = true
			if held {
				slot.Ends = l.after(lease)
			} else {
				k.Free(t.Token) // another key of the ticket was forgotten
			}
		}
	}
	return lost, errors.Join(damaged...)
}
