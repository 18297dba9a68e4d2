package servicestore

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// Over has s make its calls over conn.
func Over(s *Store, conn grpc.ClientConnInterface) { s.stub = pb.NewStoreServiceClient(conn) }

// Observe calls f with the number of takes in each request that s sends from now on.
func Observe(s *Store, f func(takes int)) { s.stub = observed{s.stub, f} }

type observed struct {
	pb.StoreServiceClient

	f func(takes int)
}

func (o observed) Take(ctx context.Context, r *pb.TakeRequest, options ...grpc.CallOption) (*pb.TakeResponse, error) {
	o.f(len(r.GetTakes()))
	return o.StoreServiceClient.Take(ctx, r, options...)
}

// Unanswered has no request of s answered, and calls f for each one of Takes.
func Unanswered(s *Store, f func()) { s.stub = unanswered{s.stub, f} }

type unanswered struct {
	pb.StoreServiceClient

	f func()
}

func (u unanswered) Take(ctx context.Context, _ *pb.TakeRequest, _ ...grpc.CallOption) (*pb.TakeResponse, error) {
	if ctx.Err() == nil { // as gRPC does
		u.f()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Waiting returns how many Takes wait to be sent.
func Waiting(s *Store) int {
	s.takes.mu.Lock()
	defer s.takes.mu.Unlock()
	return len(s.takes.waiting)
}

// Watched returns how many keys are watched.
func Watched(s *Store) int {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	return len(s.watches.keys)
}

// MostLate is how many requests without an answer in time are waited for.
const MostLate = mostLate

// Overdue returns how many requests that is now.
func Overdue(s *Store) int {
	s.takes.mu.Lock()
	defer s.takes.mu.Unlock()
	return s.takes.overdue
}

// SetClosed sets whether s starts nothing new, as Close does before it ends what is under way.
func SetClosed(s *Store, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = closed
}
