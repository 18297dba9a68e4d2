package servicestore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// End implements quota.Store.
func (s *Store) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := quota.ValidateEnd(t, actual); err != nil || t.ID == "" {
		return err
	}
	if actual == nil && !t.Leased() {
		return nil // nothing changes
	}
	if err := checkTicket(&t); err != nil {
		return err
	}
	m := &pb.Ended{Ticket: wire.PutTicket(t), Settled: actual != nil}
	for _, c := range actual {
		m.Actual = append(m.Actual, putActual(c))
	}
	return asked(s.ends.ask(ctx, m))
}

// putActual is the message of c. An item of a list cannot be absent.
func putActual(c throttle.Cost) *pb.Cost {
	if m := wire.PutCost(c); m != nil {
		return m
	}
	return &pb.Cost{}
}

// Cancel implements quota.Store.
func (s *Store) Cancel(ctx context.Context, t quota.Ticket) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.ID == "" {
		return nil
	}
	if err := checkTicket(&t); err != nil {
		return err
	}
	return asked(s.cancels.ask(ctx, wire.PutTicket(t)))
}

// asked is the answer or, without one, why there is none.
func asked(answer, err error) error {
	if err != nil {
		return err
	}
	return answer
}

func (s *Store) sendEnds(ctx context.Context, list []*pb.Ended) ([]error, error) {
	answer, err := s.stub.End(ctx, &pb.EndRequest{Ended: list})
	return s.done(len(list), answer.GetDone(), err)
}

func (s *Store) sendCancels(ctx context.Context, list []*pb.Ticket) ([]error, error) {
	answer, err := s.stub.Cancel(ctx, &pb.CancelTicketsRequest{Tickets: list})
	return s.done(len(list), answer.GetDone(), err)
}

func (s *Store) done(n int, done []*pb.Done, err error) ([]error, error) {
	switch {
	case err != nil:
		return nil, s.fault(err)
	case len(done) != n:
		return nil, errAnswer
	}
	errs := make([]error, n)
	for i, d := range done {
		errs[i] = problem(d.GetError())
	}
	return errs, nil
}

// Renew implements quota.Store.
func (s *Store) Renew(ctx context.Context, tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := quota.ValidateRenew(tickets, lease); err != nil {
		return nil, err
	}
	for i := range tickets {
		if err := checkTicket(&tickets[i]); err != nil {
			return nil, err
		}
	}
	request := &pb.RenewRequest{LeaseNanos: int64(lease)}
	var (
		of      []quota.Ticket // of the request
		damaged error          // about some keys: the leases on others must not lapse because of it
	)
	weight := 0
	for i, t := range tickets {
		if t.Leased() {
			request.Tickets, of = append(request.Tickets, wire.PutTicket(t)), append(of, t)
			weight += weightOf(request.Tickets[len(request.Tickets)-1])
		}
		if len(of) == 0 || i < len(tickets)-1 && len(of) < mostMerged && weight < mostWeight {
			continue
		}
		err := s.call(ctx, func(ctx context.Context) error {
			answer, err := s.stub.Renew(ctx, request)
			for _, i := range answer.GetLost() {
				if i >= 0 && int(i) < len(of) {
					lost = append(lost, of[i])
				}
			}
			return err
		})
		if errors.As(err, new(*fault.FieldError)) {
			damaged, err = errors.Join(damaged, err), nil
		}
		if err != nil {
			return nil, err
		}
		request.Tickets, of, weight = nil, nil, 0
	}
	return lost, damaged
}

// Cooldown implements quota.Store.
func (s *Store) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if err := cmp.Or(quota.ValidateCooldown(key), checkKey("Key", key)); err != nil && ctx.Err() == nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		_, err := s.stub.Cooldown(ctx, &pb.CooldownRequest{Key: key, Nanos: int64(d)})
		return err
	})
}
