package servicestore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// taken is the answer to a Take.
type taken struct {
	grant quota.Grant
	err   error
}

// Take implements quota.Store.
func (s *Store) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if ctx.Err() != nil {
		return quota.Grant{}, context.Cause(ctx)
	}
	h, err := s.shapes.find(&r)
	if err != nil {
		return quota.Grant{}, err
	}
	t, err := s.takes.ask(ctx, h)
	if err != nil {
		return quota.Grant{}, err
	}
	return t.grant, t.err
}

// shape is a valid request that callers make again and again. It does not change.
type shape struct {
	quota.Request

	demands []*pb.Demand
	weight  int
}

// outline is where requests are mostly different.
type outline struct {
	key     string // of the first demand
	cost    throttle.Cost
	demands int
}

// mostShapes is how many shapes are kept.
const mostShapes = 1024

// shapes is the requests that were made before. The zero value is ready for use.
type shapes struct {
	mu    sync.Mutex // guards everything below
	of    map[outline][]*shape
	count int
}

// find returns the shape of r, or why r is invalid.
func (s *shapes) find(r *quota.Request) (*shape, error) {
	at := outline{demands: len(r.Demands)}
	if at.demands > 0 {
		at.key, at.cost = r.Demands[0].Key, r.Demands[0].Cost
	}
	if h := s.known(at, r); h != nil {
		return h, nil
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := invalidField(wire.CheckDemands(r.Demands)); err != nil {
		return nil, err
	}
	h := &shape{Request: *r}
	h.Demands = slices.Clone(r.Demands)
	for i := range h.Demands {
		d := &h.Demands[i]
		d.Limits.Windows = slices.Clone(d.Limits.Windows)
		h.weight += weigh(d.Key, len(d.Limits.Windows))
	}
	h.Demands = slices.Clip(h.Demands) // what is in tickets is only read
	h.demands = wire.PutDemands(h.Demands)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || s.count >= mostShapes {
		s.of, s.count = map[outline][]*shape{}, 0
	}
	s.of[at] = append(s.of[at], h)
	s.count++
	return h, nil
}

// checkKey returns why no server accepts a key.
func checkKey(field, key string) error { return invalidField(field, wire.CheckKey(key)) }

// checkTicket is checkKey for the keys of a ticket, which need not be from this store.
func checkTicket(t *quota.Ticket) error {
	for i := range t.Demands {
		if problem := wire.CheckKey(t.Demands[i].Key); problem != "" {
			return invalidField(fmt.Sprintf("Ticket.Demands[%d].Key", i), problem)
		}
	}
	return nil
}

func invalidField(field, problem string) error {
	if problem == "" {
		return nil
	}
	return &fault.FieldError{Owner: "servicestore", Field: field, Problem: problem}
}

func (s *shapes) known(at outline, r *quota.Request) *shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range slices.Backward(s.of[at]) { // limits that have changed come last
		if equal(&h.Request, r) {
			return h
		}
	}
	return nil
}

// sendTakes sends each of several equal requests once, with their number.
func (s *Store) sendTakes(ctx context.Context, list []*shape) ([]taken, error) {
	places := map[*shape]int{} // in the request
	request, of, at := &pb.TakeRequest{TimeoutNanos: int64(s.timeout)}, make([]int, len(list)), -1
	for i, h := range list {
		if i == 0 || h != list[i-1] {
			known, ok := places[h]
			if at = known; !ok {
				at = len(request.GetTakes())
				places[h] = at
				request.Takes = append(request.Takes, &pb.Take{Demands: h.demands, LeaseNanos: int64(h.Lease), Peek: h.Peek, Uses: h.Uses})
			}
		}
		of[i] = at
		request.Takes[at].Calls++
	}
	answer, err := s.stub.Take(ctx, request)
	if err != nil {
		return nil, s.fault(err)
	}
	if len(answer.GetTaken()) != len(request.GetTakes()) {
		return nil, errAnswer
	}
	all, used := make([]taken, len(list)), make([]int, len(request.GetTakes()))
	for i, at := range of {
		grants, t := answer.GetTaken()[at].GetGrants(), &all[i]
		if used[at] >= len(grants) {
			return nil, errAnswer
		}
		g := grants[used[at]]
		used[at]++
		if t.err = problem(g.GetError()); t.err == nil {
			t.grant, t.err = wire.Grant(g, list[i].Demands)
		}
	}
	return all, nil
}

var errAnswer = fmt.Errorf("servicestore: %w", wire.ErrAnswer)

func equal(a, b *quota.Request) bool {
	if a.Lease != b.Lease || a.Peek != b.Peek || a.Uses != b.Uses || len(a.Demands) != len(b.Demands) {
		return false
	}
	for i := range a.Demands {
		d, e := &a.Demands[i], &b.Demands[i]
		if d.Key != e.Key || d.Cost != e.Cost || d.Limits.Concurrency != e.Limits.Concurrency || !slices.Equal(d.Limits.Windows, e.Limits.Windows) {
			return false
		}
	}
	return true
}

// giveBack cancels what callers took that have gone, up to an error: then leases lapse, and the rest counts as used.
func (s *Store) giveBack(list []taken) {
	var tickets []*pb.Ticket
	for _, t := range list {
		if t.grant.Ticket.ID != "" {
			tickets = append(tickets, wire.PutTicket(t.grant.Ticket))
		}
	}
	if len(tickets) == 0 {
		return
	}
	s.background(func() {
		ctx, cancel := s.bounded(s.life)
		defer cancel()
		_, _ = s.stub.Cancel(ctx, &pb.CancelTicketsRequest{Tickets: tickets})
	})
}
