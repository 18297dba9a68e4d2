package decide

import (
	"context"
	"time"

	"github.com/headrace/headrace/quota"
)

// skewGuard is the store with the outage policy, and with the guard against a clock that jumps.
type skewGuard struct {
	*quota.FallbackStore

	decider *Decider
}

// Take implements quota.Store. After a jump of the store's clock its error is an *UnavailableError, as that of a check.
func (g *skewGuard) Take(ctx context.Context, r quota.Request) (grant quota.Grant, err error) {
	err = g.judge(func() (*quota.Grant, error) {
		grant, err = g.FallbackStore.Take(ctx, r)
		return &grant, err
	})
	return grant, err
}

// TakeBatch implements quota.Batcher, if the store does.
func (g *skewGuard) TakeBatch(ctx context.Context, r quota.Request, n int) (grants []quota.Grant, err error) {
	err = g.judge(func() (*quota.Grant, error) {
		if grants, err = g.FallbackStore.TakeBatch(ctx, r, n); err != nil {
			return nil, err
		}
		return &grants[0], nil
	})
	return grants, err
}

// judge judges the store's clock by the first grant of take.
func (g *skewGuard) judge(take func() (*quota.Grant, error)) error {
	d := g.decider
	before := d.clock.Elapsed()
	if err := d.skewed(before); err != nil {
		return err
	}
	grant, err := take()
	if unreadable(err) {
		d.tellDamage(err)
	}
	if err != nil || grant.Degraded != nil || grant.Ticket.ID == "" {
		return err
	}
	now := d.clock.Elapsed()
	d.skew.sample(before, now, grant.Ticket.At)
	return d.skewed(now) // what it took stays taken
}

// skewed is the error while the clock of the store has jumped; nil otherwise.
func (d *Decider) skewed(now time.Duration) error {
	if wait := d.skew.wait(now); wait > 0 {
		return &UnavailableError{Reason: ClockSkew, RetryAfter: atLeast(wait)}
	}
	return nil
}
