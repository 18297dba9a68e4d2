package decide

import (
	"context"
	"errors"
	"time"
)

var errTODO = errors.New("decide: not built yet")

// Decider answers checks. It is safe for concurrent use.
type Decider struct{}

// Check answers one check. Its error is a *fault.FieldError for bad input, or an
// *UnavailableError.
func (d *Decider) Check(ctx context.Context, c Check) (Result, error) { return Result{}, errTODO }

// CheckAll takes everything in one step of the store, or nothing.
func (d *Decider) CheckAll(ctx context.Context, cs []Check) (All, error) { return All{}, errTODO }

// Batch answers independent checks, in their order.
func (d *Decider) Batch(ctx context.Context, cs []Check) []Outcome { return nil }

// Acquire is CheckAll that waits for up to maxWait, first come, first served among the
// callers of this server with the same keys.
func (d *Decider) Acquire(ctx context.Context, cs []Check, maxWait time.Duration) (All, error) {
	return All{}, errTODO
}

// Settle corrects a permit to the tokens that were used, one amount for each check, and
// ends it. Its error is a *PermitError for an unknown or ended permit.
func (d *Decider) Settle(ctx context.Context, permit string, actual []int64) error { return errTODO }

// Cancel gives back what a permit took, and ends it.
func (d *Decider) Cancel(ctx context.Context, permit string) error { return errTODO }

// Bucket returns what the store holds about one limit.
func (d *Decider) Bucket(ctx context.Context, scope, identifier, resource string) (Bucket, error) {
	return Bucket{}, errTODO
}

// Forget deletes what the store holds about one limit.
func (d *Decider) Forget(ctx context.Context, scope, identifier, resource string) error {
	return errTODO
}

// Health returns how the service is, from what it last saw. It does not ask the store.
func (d *Decider) Health(ctx context.Context) Health { return Health{} }
