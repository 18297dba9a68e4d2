package grpcserve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

const (
	owner   = "service"
	stopped = "the server is stopping"

	// keyPrefix keeps the keys of StoreService apart from those of configured limits, which its callers must not
	// change.
	keyPrefix = "service/store/"

	maxCalls   = 1024    // of a request
	maxWork    = 1 << 16 // demands and windows of all calls of a request
	maxWatched = 64      // keys of a Changed
	keysAtOnce = 256     // of a Keys

	giveBackTimeout = time.Second
)

// store serves StoreService.
type store struct {
	pb.UnimplementedStoreServiceServer

	server *Server
	slow   atomic.Bool // the last call of the store was not quick
}

func (s *store) store() quota.Store { return s.server.config.Store }

func howMany(n, most int) string { return fmt.Sprintf("there are %d: send 1 to %d", n, most) }

func invalidField(field, format string, args ...any) error {
	return &fault.FieldError{Owner: owner, Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Take implements pb.StoreServiceServer, as do the others. A store that merges equal calls makes one of those that are
// made at once.
func (s *store) Take(ctx context.Context, r *pb.TakeRequest) (*pb.TakeResponse, error) {
	takes, calls, err := takesOf(r.GetTakes())
	if err != nil {
		return nil, s.server.fail(ctx, err)
	}
	answer := &pb.TakeResponse{Taken: make([]*pb.Taken, len(takes))}
	if d := time.Duration(r.GetTimeoutNanos()); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	grants, tickets := make([]*pb.Grant, calls), make([]quota.Ticket, calls)
	from := make([]int, 0, len(takes)+1)
	at := 0
	for i := range takes {
		from = append(from, at)
		at += max(1, int(r.GetTakes()[i].GetCalls()))
		answer.Taken[i] = &pb.Taken{Grants: grants[from[i]:at]}
	}
	from = append(from, at)
	s.all(len(takes), func(i int) {
		s.takeEach(ctx, &takes[i], grants[from[i]:from[i+1]], tickets[from[i]:from[i+1]])
	})
	if ctx.Err() != nil { // no caller waits for it
		s.giveBack(ctx, tickets)
		return nil, s.server.fail(ctx, ctx.Err())
	}
	return answer, nil
}

// takeEach makes the calls of one take, in a batch if the store has batches.
func (s *store) takeEach(ctx context.Context, r *take, grants []*pb.Grant, tickets []quota.Ticket) {
	batcher, ok := s.store().(quota.Batcher)
	if ok && len(grants) > 1 && r.problem == nil {
		list, err := func() (list []quota.Grant, err error) {
			defer panics.Catch(&err)
			return batcher.TakeBatch(ctx, r.Request, len(grants))
		}()
		if !errors.Is(err, errors.ErrUnsupported) {
			for i := range grants {
				if err != nil {
					grants[i] = &pb.Grant{Error: s.server.problem(ctx, err)}
				} else {
					grants[i], tickets[i] = wire.PutGrant(&list[i], r.Demands), list[i].Ticket
				}
			}
			return
		}
	}
	s.all(len(grants), func(i int) { grants[i], tickets[i] = s.take(ctx, r) })
}

// quick is how long a call of the store may take to be made before the next one, and not at the same time: a goroutine
// costs more than a call of a store in memory.
const quick = 20 * time.Microsecond

// all makes n calls of the store.
func (s *store) all(n int, call func(i int)) {
	i := 0
	for i < n && (i == n-1 || !s.slow.Load()) {
		began := time.Now()
		call(i)
		s.slow.Store(time.Since(began) > quick)
		i++
	}
	if i == n {
		return
	}
	var wg sync.WaitGroup
	for j := range n - 1 - i {
		wg.Go(func() { call(i + j) })
	}
	began := time.Now()
	call(n - 1)
	s.slow.Store(time.Since(began) > quick)
	wg.Wait()
}

// take is a request, or why it is none: callers that share a message do not fail together.
type take struct {
	quota.Request

	problem error
}

// takesOf reads the requests, and counts their calls.
func takesOf(list []*pb.Take) (takes []take, calls int, err error) {
	if n := len(list); n == 0 || n > maxCalls {
		return nil, 0, invalidField("takes", "%s", howMany(n, maxCalls))
	}
	takes = make([]take, len(list))
	work := 0
	for i, m := range list {
		n := int(m.GetCalls())
		if calls += max(1, n); n < 0 || n > maxCalls || calls > maxCalls {
			return nil, 0, invalidField("takes", "they have more than %d calls, or a negative number: send fewer", maxCalls)
		}
		r := &takes[i]
		r.Lease, r.Peek, r.Uses = time.Duration(m.GetLeaseNanos()), m.GetPeek(), m.GetUses()
		if r.Demands, r.problem = demandsOf("demands", m.GetDemands()); r.problem != nil {
			continue
		}
		each := len(r.Demands)
		for j := range r.Demands {
			each += len(r.Demands[j].Limits.Windows)
		}
		if work += each * max(1, n); work > maxWork {
			return nil, 0, invalidField("takes", "their calls have more than %d demands and windows: send fewer", maxWork)
		}
	}
	return takes, calls, nil
}

// demandsOf bounds what a store looks at; the store validates the rest.
func demandsOf(field string, list []*pb.Demand) ([]quota.Demand, error) {
	if n := len(list); n > wire.MaxDemands {
		return nil, invalidField(field, "%s", howMany(n, wire.MaxDemands))
	}
	for i, m := range list {
		if n := len(m.GetWindows()); n > wire.MaxWindows {
			return nil, invalidField(fmt.Sprintf("%s[%d].windows", field, i), "%s", howMany(n, wire.MaxWindows))
		}
		if err := checkKey(fmt.Sprintf("%s[%d].key", field, i), m.GetKey()); err != nil {
			return nil, err
		}
	}
	demands, err := wire.Demands(list, keyPrefix)
	if err != nil {
		return nil, invalidField(field, "%s", err)
	}
	return demands, nil
}

func checkKey(field, key string) error {
	if len(key) > wire.MaxKey {
		return invalidField(field, "it has %d bytes: at most %d are allowed", len(key), wire.MaxKey)
	}
	return nil
}

// prefixed is a key of the store; an empty one stays empty, which the store reports.
func prefixed(key string) string {
	if key == "" {
		return ""
	}
	return keyPrefix + key
}

func (s *store) take(ctx context.Context, r *take) (*pb.Grant, quota.Ticket) {
	g, err := func() (g quota.Grant, err error) {
		defer panics.Catch(&err)
		if r.problem != nil {
			return g, r.problem
		}
		return s.store().Take(ctx, r.Request)
	}()
	if err != nil {
		return &pb.Grant{Error: s.server.problem(ctx, err)}, quota.Ticket{}
	}
	return wire.PutGrant(&g, r.Demands), g.Ticket
}

// giveBack cancels tickets that no caller has received.
func (s *store) giveBack(ctx context.Context, tickets []quota.Ticket) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	for _, t := range tickets {
		if t.ID == "" {
			continue
		}
		if err := s.store().Cancel(ctx, t); err != nil && !errors.Is(err, quota.ErrLeaseLost) {
			return // leases lapse, and the rest counts as used
		}
	}
}

func (s *store) End(ctx context.Context, r *pb.EndRequest) (*pb.EndResponse, error) {
	list := r.GetEnded()
	done, err := s.each(ctx, "ended", len(list), func(i int) *pb.Ticket { return list[i].GetTicket() }, func(t quota.Ticket, i int) error {
		var actual []throttle.Cost
		if list[i].GetSettled() {
			actual = make([]throttle.Cost, len(list[i].GetActual()))
			for j, c := range list[i].GetActual() {
				actual[j] = wire.Cost(c)
			}
		}
		return s.store().End(ctx, t, actual)
	})
	return &pb.EndResponse{Done: done}, err
}

func (s *store) Cancel(ctx context.Context, r *pb.CancelTicketsRequest) (*pb.CancelTicketsResponse, error) {
	list := r.GetTickets()
	done, err := s.each(ctx, "tickets", len(list), func(i int) *pb.Ticket { return list[i] }, func(t quota.Ticket, _ int) error {
		return s.store().Cancel(ctx, t)
	})
	return &pb.CancelTicketsResponse{Done: done}, err
}

// each does something with n tickets at once.
func (s *store) each(ctx context.Context, field string, n int, ticket func(i int) *pb.Ticket, do func(t quota.Ticket, i int) error) ([]*pb.Done, error) {
	if n == 0 || n > maxCalls {
		return nil, s.server.fail(ctx, invalidField(field, "%s", howMany(n, maxCalls)))
	}
	done := make([]*pb.Done, n)
	one := func(i int) {
		err := func() (err error) {
			defer panics.Catch(&err)
			t, err := ticketOf("", ticket(i)) // others in the message do not fail with it
			if err != nil {
				return err
			}
			return do(t, i)
		}()
		done[i] = &pb.Done{}
		if err != nil {
			done[i].Error = s.server.problem(ctx, err)
		}
	}
	s.all(n, one)
	return done, nil
}

func ticketOf(field string, m *pb.Ticket) (quota.Ticket, error) {
	demands, err := demandsOf(field+"demands", m.GetDemands())
	return quota.Ticket{ID: m.GetId(), At: m.GetAt(), Token: m.GetToken(), Demands: demands}, err
}

func (s *store) Renew(ctx context.Context, r *pb.RenewRequest) (*pb.RenewResponse, error) {
	list := r.GetTickets()
	if len(list) > maxCalls {
		return nil, s.server.fail(ctx, invalidField("tickets", "%s", howMany(len(list), maxCalls)))
	}
	tickets := make([]quota.Ticket, len(list))
	at := map[string]int32{}
	for i, m := range list {
		var err error
		if tickets[i], err = ticketOf(fmt.Sprintf("tickets[%d].", i), m); err != nil {
			return nil, s.server.fail(ctx, err)
		}
		at[m.GetId()] = int32(i)
	}
	lost, err := s.store().Renew(ctx, tickets, time.Duration(r.GetLeaseNanos()))
	if err != nil {
		return nil, s.server.fail(ctx, err)
	}
	answer := &pb.RenewResponse{}
	for _, t := range lost {
		answer.Lost = append(answer.Lost, at[t.ID])
	}
	return answer, nil
}

func (s *store) Cooldown(ctx context.Context, r *pb.CooldownRequest) (*pb.CooldownResponse, error) {
	err := checkKey("key", r.GetKey())
	if err == nil {
		err = s.store().Cooldown(ctx, prefixed(r.GetKey()), time.Duration(r.GetNanos()))
	}
	if err != nil {
		return nil, s.server.fail(ctx, err)
	}
	return &pb.CooldownResponse{}, nil
}

func (s *store) inspector() (quota.Inspector, error) {
	if i, ok := s.store().(quota.Inspector); ok {
		return i, nil
	}
	return nil, status.Error(codes.Unimplemented, "the store of the server cannot be inspected")
}

func (s *store) Look(ctx context.Context, r *pb.LookRequest) (*pb.LookResponse, error) {
	i, err := s.inspector()
	if err != nil {
		return nil, err
	}
	state, err := i.Look(ctx, prefixed(r.GetKey()))
	if err != nil {
		return nil, s.server.fail(ctx, err)
	}
	return &pb.LookResponse{
		Concurrency: int64(state.Limits.Concurrency), Windows: wire.PutWindows(state.Limits.Windows), Uses: wire.PutUses(state.Uses),
		InFlight: int64(state.InFlight), CooldownNanos: int64(state.Cooldown),
	}, nil
}

func (s *store) Keys(r *pb.KeysRequest, to grpc.ServerStreamingServer[pb.KeysResponse]) error {
	i, err := s.inspector()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(to.Context())
	defer cancel()
	defer context.AfterFunc(s.server.stopping, cancel)()
	var keys []string
	for key, err := range i.Keys(ctx, keyPrefix+r.GetPrefix()) {
		if err != nil {
			return s.server.fail(ctx, err)
		}
		if keys = append(keys, key[len(keyPrefix):]); len(keys) == keysAtOnce {
			if err := to.Send(&pb.KeysResponse{Keys: keys}); err != nil {
				return err
			}
			keys = nil
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return to.Send(&pb.KeysResponse{Keys: keys})
}

func (s *store) Forget(ctx context.Context, r *pb.ForgetRequest) (*pb.ForgetResponse, error) {
	i, err := s.inspector()
	if err != nil {
		return nil, err
	}
	if err := i.Forget(ctx, prefixed(r.GetKey())); err != nil {
		return nil, s.server.fail(ctx, err)
	}
	return &pb.ForgetResponse{}, nil
}

func (s *store) Changed(r *pb.ChangedRequest, to grpc.ServerStreamingServer[pb.ChangedResponse]) error {
	ctx := to.Context()
	waker, ok := s.store().(quota.Waker)
	if !ok {
		return status.Error(codes.Unimplemented, "the store of the server announces nothing")
	}
	if n := len(r.GetKeys()); n == 0 || n > maxWatched {
		return s.server.fail(ctx, invalidField("keys", "%s", howMany(n, maxWatched)))
	}
	keys := make([]string, len(r.GetKeys()))
	for i, key := range r.GetKeys() {
		if err := checkKey(fmt.Sprintf("keys[%d]", i), key); err != nil {
			return s.server.fail(ctx, err)
		}
		keys[i] = prefixed(key)
	}
	changed, err := waker.Changed(ctx, keys...)
	if err != nil {
		return s.server.fail(ctx, err)
	}
	if err := to.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	for {
		select {
		case <-changed:
			if err := to.Send(&pb.ChangedResponse{}); err != nil {
				return err
			}
		case <-s.server.stopping.Done():
			return status.Error(codes.Unavailable, stopped)
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}
