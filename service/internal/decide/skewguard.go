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
func (g *skewGuard) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	d := g.decider
	before := d.clock.Elapsed()
	if err := d.skewed(before); err != nil {
		return quota.Grant{}, err
	}
	grant, err := g.FallbackStore.Take(ctx, r)
	if err != nil || grant.Degraded != nil || grant.Ticket.ID == "" {
		return grant, err
	}
	now := d.clock.Elapsed()
	d.skew.sample(before, now, grant.Ticket.At)
	return grant, d.skewed(now) // what it took stays taken
}

// skewed is the error while the clock of the store has jumped; nil otherwise.
func (d *Decider) skewed(now time.Duration) error {
	if wait := d.skew.wait(now); wait > 0 {
		return &UnavailableError{Reason: ClockSkew, RetryAfter: atLeast(wait)}
	}
	return nil
}
