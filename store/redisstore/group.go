package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// part is the demands of one group: their places in the request.
type part []int

// parts splits demands by their group, in the order of their first demands. It may return nil for one group.
func (s *Store) parts(demands []quota.Demand) []part {
	if len(demands) == 1 || s.group == nil {
		return nil
	}
	groups, parts := make([]string, 0, len(demands)), make([]part, 0, 1)
	for i := range demands {
		g := s.group(demands[i].Key)
		j := slices.Index(groups, g)
		if j < 0 {
			j = len(groups)
			groups, parts = append(groups, g), append(parts, nil)
		}
		parts[j] = append(parts[j], i)
	}
	return parts
}

func (p part) of(demands []quota.Demand) []quota.Demand {
	list := make([]quota.Demand, len(p))
	for i, at := range p {
		list[i] = demands[at]
	}
	return list
}

// mostRetries bounds how often a request is made again to have the same token in all groups.
const mostRetries = 3

// takeParts reserves in one group after the other. If one refuses, what was reserved is given back, and the others
// are asked how long they would have the call wait. With slots the token must be the same in every group, so that it
// is above all tokens before it: it is drawn ahead of the clocks, and drawn again if a group has a higher one.
func (s *Store) takeParts(ctx context.Context, r *quota.Request, parts []part) (quota.Grant, error) {
	floor := int64(0)
	if !r.Peek && (quota.Ticket{Demands: r.Demands}).Leased() {
		floor = s.redisNow().Add(s.timeout).UnixMicro()
	}
	for range mostRetries {
		g, token, err := s.tryParts(ctx, r, parts, floor)
		if err != nil || g.Wait > 0 || floor == 0 || token == floor {
			return g, err
		}
		s.abandon(ctx, g.Ticket)
		floor = token + 1
	}
	b := throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: time.Millisecond} // others draw tokens all the time
	return quota.Grant{Wait: b.Wait, Bound: b}, nil
}

func (s *Store) tryParts(ctx context.Context, r *quota.Request, parts []part, floor int64) (all quota.Grant, token int64, err error) {
	uses := make([][]throttle.WindowUse, len(r.Demands))
	var reserved []quota.Ticket
	for _, p := range parts {
		q := query{Request: *r, floor: floor}
		q.Demands = p.of(r.Demands)
		switch {
		case r.Peek:
			q.mode = peek
		case all.Wait > 0:
			q.mode = ask
		}
		var g quota.Grant
		if g, err = s.takeOne(ctx, &q); err != nil {
			s.abandon(ctx, reserved...)
			return quota.Grant{}, 0, err
		}
		for i, at := range p {
			if r.Uses {
				uses[at] = g.Uses[i]
			}
		}
		if g.Wait > 0 {
			s.abandon(ctx, reserved...)
			reserved = nil
			g.Demand = p[g.Demand]
			all = later(all, g)
		} else if g.Ticket.ID != "" {
			reserved = append(reserved, g.Ticket)
			token = max(token, g.Ticket.Token)
		}
	}
	if r.Uses {
		all.Uses = uses
	}
	if all.Wait == 0 && !r.Peek {
		all.Ticket = joinTickets(reserved)
		all.Ticket.Demands = slices.Clone(r.Demands)
	}
	return all, token, nil
}

// abandon gives back what was reserved, also if the caller's context has ended: then it does not wait for that.
func (s *Store) abandon(ctx context.Context, reserved ...quota.Ticket) {
	if len(reserved) == 0 {
		return
	}
	done := s.background(func() {
		for _, t := range reserved {
			_ = s.Cancel(s.life, t) // what is not given back counts as used
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// later is the one of two refusals that counts: the longer one, and a slot only if nothing else is missing.
func later(a, b quota.Grant) quota.Grant {
	slotA, slotB := a.Bound.Kind == throttle.BoundByConcurrency, b.Bound.Kind == throttle.BoundByConcurrency
	if a.Wait == 0 || slotA && !slotB || slotA == slotB && b.Wait > a.Wait {
		return b
	}
	return a
}

// A ticket of several groups has in its ID, for each of them, the ID, the time and the token there.
const (
	betweenTickets = "|"
	betweenFields  = "@"
)

func joinTickets(tickets []quota.Ticket) (joined quota.Ticket) {
	ids := make([]string, len(tickets))
	for i, t := range tickets {
		ids[i] = t.ID + betweenFields + strconv.FormatInt(t.At, 36) + betweenFields + strconv.FormatInt(t.Token, 36)
		joined.At, joined.Token = max(joined.At, t.At), max(joined.Token, t.Token)
	}
	joined.ID = strings.Join(ids, betweenTickets)
	return joined
}

// partTicket is what a ticket took in one group.
type partTicket struct {
	quota.Ticket

	part part
}

// splitTicket returns what a ticket took in each group; nil if there is one group.
func splitTicket(s *Store, t quota.Ticket) []partTicket {
	ids := strings.Split(t.ID, betweenTickets)
	if len(ids) == 1 {
		return nil
	}
	list := make([]partTicket, 0, len(ids))
	for i, p := range s.parts(t.Demands) {
		if i == len(ids) {
			break
		}
		f := strings.Split(ids[i], betweenFields)
		if len(f) != 3 {
			continue
		}
		at, _ := strconv.ParseInt(f[1], 36, 64)
		token, _ := strconv.ParseInt(f[2], 36, 64)
		list = append(list, partTicket{quota.Ticket{ID: f[0], At: at, Token: token, Demands: p.of(t.Demands)}, p})
	}
	return list
}

// finishParts ends a ticket in all its groups, also if the caller's context ends meanwhile: then it does not wait for
// that.
func (s *Store) finishParts(ctx context.Context, parts []partTicket, used func(i int) amounts) error {
	uses := make([][]amounts, len(parts)) // used reads what is the caller's
	for i, p := range parts {
		for _, at := range p.part {
			uses[i] = append(uses[i], used(at))
		}
	}
	err := wrap(errClosed)
	done := s.background(func() { err = s.finishEach(context.WithoutCancel(ctx), parts, uses) })
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finishEach begins with the groups where the ticket has slots: if one of these leases is lost, only the slots in the
// groups after it become free.
func (s *Store) finishEach(ctx context.Context, parts []partTicket, uses [][]amounts) (err error) {
	for _, leased := range []bool{true, false} {
		for i, p := range parts {
			lost := errors.Is(err, quota.ErrLeaseLost)
			if p.Leased() != leased || lost && !leased {
				continue
			}
			err = errors.Join(err, s.finishOne(ctx, p.Ticket, 1, func(j int) amounts {
				if lost {
					return tally.Amounts(p.Demands[j].Cost)
				}
				return uses[i][j]
			}))
		}
	}
	return err
}
