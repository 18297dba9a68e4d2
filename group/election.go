package group

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/internal/panics"
)

// Election elects the leader among the replicas of a service, with a lease, and stores what the leader has
// learned. Package redisstore has an implementation. A method returns soon after ctx ends, and may be called
// by several goroutines.
type Election interface {
	// Acquire takes the lease for d if it is free, or candidate's. The token is larger than every
	// one before; saved is the last value passed to Renew. If another candidate has the lease,
	// token is 0, and leader is that candidate. candidate is a text without secrets, of at most 1
	// KiB.
	Acquire(ctx context.Context, candidate string, d time.Duration) (token int64, leader string, saved []byte, err error)
	// Renew extends the lease to d from now, and replaces saved unless that is nil. held is false, and nothing
	// changes, if the lease has lapsed or the token is not that of the last Acquire.
	Renew(ctx context.Context, token int64, d time.Duration, saved []byte) (held bool, err error)
	// Release ends the lease of the token, if that is still the last one.
	Release(ctx context.Context, token int64) error
}

const (
	// leaseFor is how long a replica leads without a renewal.
	leaseFor = 3 * time.Second
	// leaseMargin is how long before the lease lapses it admits no more calls: clocks of hosts do not
	// run at the same speed.
	leaseMargin = leaseFor / 6
	// renewEvery is how often the lease is renewed.
	renewEvery = leaseFor / 6
	// lookEvery is how often a replica that does not lead tries to.
	lookEvery = 250 * time.Millisecond
)

var errElectionSlow = errors.New("the election did not answer in time")

// ballot is an Election, of which one method runs at a time and holds no caller: it is user code.
type ballot struct {
	Election
	busy chan struct{} // holds one
}

// within calls f, and returns when ctx ends at the latest.
func within[T any](ctx context.Context, b *ballot, f func(context.Context) (T, error)) (result T, err error) {
	type answer struct {
		result T
		err    error
	}
	select {
	case b.busy <- struct{}{}:
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the election has ended its goroutine")}
		defer func() { <-b.busy; done <- a }()
		defer panics.Catch(&a.err)
		a.result, a.err = f(ctx)
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}

// lease is what Acquire returns.
type lease struct {
	token  int64
	leader string
	saved  []byte
}

func (b *ballot) acquire(ctx context.Context, candidate string) (lease, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaseFor, errElectionSlow)
	defer cancel()
	return within(ctx, b, func(ctx context.Context) (l lease, err error) {
		l.token, l.leader, l.saved, err = b.Acquire(ctx, candidate, leaseFor)
		return l, err
	})
}

func (b *ballot) renew(ctx context.Context, token int64, until time.Time, saved []byte) (held bool, err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, until, errElectionSlow)
	defer cancel()
	return within(ctx, b, func(ctx context.Context) (bool, error) { return b.Renew(ctx, token, leaseFor, saved) })
}

func (b *ballot) release(token int64) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), leaseFor, errElectionSlow)
	defer cancel()
	_, _ = within(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.Release(ctx, token) }) // it lapses
}
