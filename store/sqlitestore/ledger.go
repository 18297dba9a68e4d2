package sqlitestore

import (
	"bytes"
	"encoding/binary"
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

// account is one key.
type account struct {
	meter.Key
	name  string
	found bool // in the file
	gone  bool // it was there, and is to be deleted unless it is dirty
	dirty bool // differs from what is there
}

// quotaClock is the time of the store, in nanoseconds since 1970, and the last token.
type quotaClock struct{ at, wall, token int64 }

// mostAhead is how far the store's time waits for a clock that was set back, at half speed. If it is further ahead, the
// clock was wrong before: the store's time goes on at full speed, and calendars follow the clock.
const mostAhead = int64(24 * time.Hour)

func (c *quotaClock) farAhead() bool { return c.at-c.wall > mostAhead }

// tick never steps back. While the host's clock is behind, because it was set
// back, the store's runs half as fast until it has caught up, unless it is far ahead. It reports whether
// it was set back, which has to be written: the next tick counts from there.
func (c *quotaClock) tick(wall int64) (setBack bool) {
	setBack = wall < c.wall
	switch {
	case wall >= c.at:
		c.at = wall
	case wall > c.wall && c.farAhead():
		c.at += wall - c.wall
	case wall > c.wall:
		c.at += (wall - c.wall) / 2
	}
	c.wall = wall
	return setBack
}

// base is the instant 0 of calendars by the host's clock.
func (c *quotaClock) base() time.Time {
	if c.farAhead() {
		return epoch().Add(time.Duration(c.wall - c.at))
	}
	return epoch()
}

// append appends the clock and its sum to b.
func (c *quotaClock) append(b []byte) []byte {
	for _, n := range []int64{c.at, c.wall, c.token, int64(sum(0).numbers(c.at, c.wall, c.token))} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n)) //nolint:gosec // all 64 bits of it
	}
	return b
}

// read reports whether b is a clock.
func (c *quotaClock) read(b []byte) bool {
	if len(b) != 4*8 {
		return false
	}
	for i, n := range []*int64{&c.at, &c.wall, &c.token} {
		*n = int64(binary.LittleEndian.Uint64(b[8*i:])) //nolint:gosec // all 64 bits of it
	}
	return bytes.Equal(b, c.append(nil))
}

// mostShapes is how many shapes a call is compared with.
const mostShapes = 16

const (
	readQuota   = `SELECT state FROM quotas WHERE key = ?`
	addQuota    = `INSERT OR ROLLBACK INTO quotas (state, key) VALUES (?, ?)`
	writeQuota  = `UPDATE OR ROLLBACK quotas SET state = ? WHERE key = ?`
	deleteQuota = `DELETE FROM quotas WHERE key = ?`
	listQuotas  = `SELECT key, state FROM quotas WHERE key >= ? ORDER BY key LIMIT ?`
)

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
		l.freed = append(l.freed, k.name)
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

func (l *ledger) renew(tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
	for i := range tickets { // so that an error changes nothing
		for j := range tickets[i].Demands {
			if _, err := l.load(tickets[i].Demands[j].Key); err != nil {
				return nil, err
			}
		}
	}
	for i := range tickets {
		t := &tickets[i]
		if !t.Leased() {
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
	return lost, nil
}

// forget deletes the key, whatever is in its row.
func (l *ledger) forget(name string) {
	l.keys[name] = &account{name: name, gone: true}
	l.freed = append(l.freed, name)
}

func (l *ledger) cool(key string, d time.Duration) error {
	k, err := l.load(key)
	if err == nil && d > 0 {
		k.Cooled, k.dirty = max(k.Cooled, l.after(d)), true
	}
	return err
}

// load returns the key, without the slots that have lapsed.
func (l *ledger) load(name string) (*account, error) {
	if k := l.keys[name]; k != nil {
		return k, nil
	}
	var text []byte
	found, err := l.q.tx.row([]any{&text}, readQuota, []byte(name))
	if err != nil {
		return nil, err
	}
	k := &account{name: name, found: found}
	if found {
		read, err := l.q.codec.Read(text, name)
		if err != nil {
			return nil, stateError(name, err)
		}
		k.Key = *read
		k.Lapse(l.now)
	}
	l.keys[name] = k
	return k, nil
}

// stateError is err about the state of a key.
func stateError(name string, err error) error {
	if errors.Is(err, meter.ErrDamaged) {
		return &sumError{of: fmt.Sprintf("the limits of %q", name)}
	}
	return &fault.FieldError{Owner: "sqlitestore", Field: fmt.Sprintf("the limits of %q", name), Problem: err.Error()}
}

// write writes what has changed.
func (l *ledger) write() error {
	news := 0
	for _, k := range l.keys {
		if k.gone {
			if _, err := l.q.tx.exec(deleteQuota, []byte(k.name)); err != nil {
				return err
			}
		}
		if !k.dirty {
			continue
		}
		l.used = true
		query := writeQuota
		if !k.found {
			query = addQuota
			news++
		}
		l.q.bytes = l.q.codec.Append(l.q.bytes[:0], k.name, &k.Key)
		if _, err := l.q.tx.exec(query, l.q.bytes, []byte(k.name)); err != nil {
			return err
		}
	}
	if news > 0 {
		if err := l.sweep(2 * news); err != nil {
			return err
		}
	}
	if !l.used {
		return nil
	}
	query := writeQuota
	if l.first {
		query = addQuota
	}
	_, err := l.q.tx.exec(query, l.clock.append(l.q.bytes[:0]), []byte{})
	return err
}

// sweep looks at the next n keys and deletes those that do not differ from a
// new one. Called with twice the number of new keys, it deletes idle keys
// faster than new ones are made.
func (l *ledger) sweep(n int) error {
	page, err := l.page(max(l.q.hand, firstKey), n)
	if err != nil {
		return err
	}
	l.q.hand = firstKey
	if len(page) == n {
		l.q.hand = page[n-1].name + "\x00"
	}
	for _, k := range page {
		if k.damaged || !k.Idle(l.now) {
			continue
		}
		if _, err := l.q.tx.exec(deleteQuota, []byte(k.name)); err != nil {
			return err
		}
	}
	return nil
}

// firstKey is where the keys begin, behind the clock.
const firstKey = "\x00"

// listed is a key of a page.
type listed struct {
	meter.Key
	name    string
	damaged bool
}

// page returns n keys in their order, from one on.
func (l *ledger) page(from string, n int) (page []listed, err error) {
	statement, err := l.q.tx.prepared(listQuotas) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	rows, err := statement.QueryContext(l.q.tx.ctx, []byte(from), n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, text []byte
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		k := listed{name: string(name)}
		if read, err := l.q.codec.Read(text, k.name); err == nil {
			k.Key = *read
		} else {
			k.damaged = true
		}
		page = append(page, k)
	}
	return page, rows.Err()
}
