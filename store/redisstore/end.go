package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// End implements quota.Store. Amounts outside 0..throttle.MaxAmount are clamped.
func (s *Store) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if err := quota.ValidateEnd(t, actual); err != nil {
		return err
	}
	return s.finish(ctx, t, func(i int) amounts {
		if actual == nil {
			return tally.Amounts(t.Demands[i].Cost)
		}
		return tally.Used(actual[i])
	})
}

// Cancel implements quota.Store.
func (s *Store) Cancel(ctx context.Context, t quota.Ticket) error {
	return s.finish(ctx, t, func(int) amounts { return amounts{} })
}

func (s *Store) finish(ctx context.Context, t quota.Ticket, used func(i int) amounts) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.ID == "" {
		return nil // nothing was taken
	}
	if parts := splitTicket(s, t); parts != nil {
		return s.finishParts(ctx, parts, used)
	}
	return s.finishOne(ctx, t, 1, used)
}

// finishOne ends what was taken in one group, by so many calls at that instant.
func (s *Store) finishOne(ctx context.Context, t quota.Ticket, calls int64, used func(i int) amounts) error {
	back := make([]amounts, len(t.Demands))
	leased, nothing := t.Leased(), true
	c := call{op: opFinish}
	for i := range t.Demands {
		d := &t.Demands[i]
		c.keys = names(c.keys, s.tag(d.Key), d.Key)
		back[i] = tally.Amounts(d.Cost)
		for u, n := range used(i) {
			back[i][u] = calls * (back[i][u] - n)
		}
		nothing = nothing && back[i] == amounts{}
	}
	if nothing && !leased {
		return nil
	}
	c.args = func(now time.Time) []string {
		words := []string{t.ID, flag(leased), text(t.At / int64(time.Microsecond)), text(t.Token), ""}
		if leased {
			words[4] = s.channel()
		}
		for i := range t.Demands {
			words = demand(words, &t.Demands[i], &back[i], now)
		}
		return words
	}
	reply, err := s.run(ctx, &c)
	if err != nil {
		return about(err, func(i int) string { return t.Demands[i].Key })
	}
	v, err := ints(reply, 2)
	if err == nil && v[0] == 1 {
		return fmt.Errorf("%w: ticket %s", quota.ErrLeaseLost, t.ID)
	}
	return wrap(err)
}

// Renew implements quota.Store. The tickets of one group of keys are renewed by one script.
func (s *Store) Renew(ctx context.Context, tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := quota.ValidateRenew(tickets, lease); err != nil {
		return nil, err
	}
	var tags []string
	renewals := map[string]*renewal{}
	add := func(i int, t quota.Ticket) {
		if !t.Leased() {
			return
		}
		tag := s.tag(t.Demands[0].Key)
		if renewals[tag] == nil {
			renewals[tag], tags = &renewal{tag: tag, lease: lease}, append(tags, tag)
		}
		renewals[tag].list = append(renewals[tag].list, placed{i, t})
	}
	several := map[int]bool{} // groups
	for i, t := range tickets {
		parts := splitTicket(s, t)
		if parts == nil {
			add(i, t)
		}
		several[i] = parts != nil
		for _, p := range parts {
			add(i, p.Ticket)
		}
	}
	gone := map[int]bool{}
	var damaged error
	for _, tag := range tags {
		d, err := renewals[tag].do(ctx, s, gone)
		if err != nil {
			return nil, err
		}
		damaged = errors.Join(damaged, d)
	}
	for i, t := range tickets {
		if !gone[i] {
			continue
		}
		lost = append(lost, t)
		if several[i] {
			_ = s.End(ctx, t, nil) // frees its slots in the other groups; otherwise they lapse
		}
	}
	return lost, damaged
}

// renewal is the tickets of one group that a Renew extends.
type renewal struct {
	tag   string
	lease time.Duration
	list  []placed
}

// placed is a ticket, with its place in the Renew.
type placed struct {
	at     int
	ticket quota.Ticket
}

// slots are the keys of which a ticket has a slot.
func (p *placed) slots() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range p.ticket.Demands {
			if d := &p.ticket.Demands[i]; d.Limits.Concurrency > 0 && !yield(d.Key) {
				return
			}
		}
	}
}

// words returns the keys of all tickets, their names in Redis, and the arguments of the script.
func (r *renewal) words() (keys, list, words []string) {
	words = []string{text(micros(r.lease)), strconv.Itoa(len(r.list))}
	places := map[string]int{} // of the keys, from 1
	for i := range r.list {
		at, n := len(words)+1, 0
		words = append(words, r.list[i].ticket.ID, "")
		for key := range r.list[i].slots() {
			if places[key] == 0 {
				keys, list = append(keys, key), names(list, r.tag, key)
				places[key] = len(keys)
			}
			words, n = append(words, strconv.Itoa(places[key])), n+1
		}
		words[at] = strconv.Itoa(n)
	}
	return keys, list, words
}

// do renews, and adds the places of the tickets that were lost to gone. Tickets with a damaged key are left out: the
// leases on other keys must not lapse because of it.
func (r *renewal) do(ctx context.Context, s *Store, gone map[int]bool) (damaged, err error) {
	for len(r.list) > 0 {
		keys, list, words := r.words()
		reply, err := s.run(ctx, &call{op: opRenew, keys: list, args: func(time.Time) []string { return words }})
		if d, ok := errors.AsType[*damage](err); ok {
			damaged = errors.Join(damaged, about(err, func(i int) string { return keys[i] }))
			r.list = slices.DeleteFunc(r.list, func(p placed) bool {
				for key := range p.slots() {
					if key == keys[d.at] {
						return true
					}
				}
				return false
			})
			continue
		}
		if err != nil {
			return damaged, err
		}
		v, err := ints(reply, 0)
		for _, i := range v {
			if i < 0 || i >= int64(len(r.list)) {
				return damaged, wrap(errReply)
			}
			gone[r.list[i].at] = true
		}
		return damaged, wrap(err)
	}
	return damaged, nil
}

// Cooldown implements quota.Store. Without a positive d it changes nothing.
func (s *Store) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if key == "" {
		return &fault.FieldError{Owner: "quota", Field: "Key", Problem: "it is empty: name the limited resource"}
	}
	if d <= 0 {
		return nil
	}
	s.queues.drop(s, key)
	_, err := s.run(ctx, &call{op: opCool, keys: names(nil, s.tag(key), key), args: func(time.Time) []string {
		return []string{key, text(micros(d))}
	}})
	return about(err, func(int) string { return key })
}

func (s *Store) channel() string { return s.prefix + "ended" }
