package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/panics"
)

const (
	// beat is how often a long attempt reports that its worker is alive.
	beat = 1500 * time.Millisecond
	// deadAfter is after how long without a report another worker makes the attempt again.
	deadAfter = 5 * time.Second
	// longestAttempt bounds an attempt of an activity beside the timeout of its node: its admission, its fallback, Prep and
	// Post, and the store. guard.Guard.Attempt ends a call without a timeout much earlier.
	longestAttempt = 24 * time.Hour
	// mostLost is how many attempts of an activity may be lost: it may be what kills their workers.
	mostLost = 10
	// shortestDelay is the least between two attempts; 0 would mean that of the retry policy.
	shortestDelay = 10 * time.Millisecond
	// mostMissed is how often a value is looked for in vain, about seven seconds: the store need not show a value
	// at once that another machine has stored, but soon.
	mostMissed = 3
	// shortestPass is how long an activity waits that a worker with another version of the flow has received. The wait
	// doubles with each such worker in a row, up to longestPass.
	shortestPass = 100 * time.Millisecond
	longestPass  = 20 * time.Second
)

// details are what the server keeps of an activity from one attempt to the next.
type details struct {
	guard.Progress

	Returned int32 `json:"returned,omitempty"` // attempts that were not lost with their worker
	Missed   int32 `json:"missed,omitempty"`   // attempts that did not find a value in the store
	Passed   int32 `json:"passed,omitempty"`   // attempts in a row by workers with another version of the flow
}

// errLost is of an activity of which too many attempts were lost.
var errLost = fmt.Errorf("temporal: %d attempts did not end: their workers were lost in the middle of them, or they took longer than %v", mostLost, longestAttempt)

// attempt is try, for an activity that fails when too many attempts were lost.
func (a *activities) attempt(
	ctx context.Context, c *call,
	f func(ctx context.Context, part *engine.Part, p guard.Progress) (next guard.Progress, again bool, err error),
) error {
	err := a.try(ctx, c, f)
	if errors.Is(err, errLost) {
		return failed(err)
	}
	return err
}

// try runs f, one attempt of an activity, from where the last one ended. If f returns an error
// another attempt follows: that of f if again is set, after its delay, and otherwise one for the machinery, such as a
// store that did not answer. A worker with another version of the flow does not run f.
func (a *activities) try(
	ctx context.Context, c *call,
	f func(ctx context.Context, part *engine.Part, p guard.Progress) (next guard.Progress, again bool, err error),
) error {
	var d details
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &d); err != nil {
			d = details{}
		}
	}
	part, err := a.part(c)
	if err != nil {
		a.noted(ctx, c, err)
		d.Returned++
		delay := min(shortestPass<<min(d.Passed, 10), longestPass)
		d.Passed++
		activity.RecordHeartbeat(ctx, d)
		return repeated(err, delay)
	}
	d.Passed = 0
	if lost := activity.GetInfo(ctx).Attempt - 1 - d.Returned; lost >= mostLost {
		return errLost
	}
	stop := beating(ctx, d)
	next, again, err := safely(ctx, part, d.Progress, f)
	stop()
	if err == nil {
		return nil
	}
	d.Returned++
	switch {
	case again:
		d.Progress = next
	case errors.Is(err, ErrNotFound):
		if d.Missed++; d.Missed > mostMissed {
			return failed(err)
		}
	}
	activity.RecordHeartbeat(ctx, d)
	if again {
		return repeated(err, max(next.Delay, shortestDelay))
	}
	return err
}

// repeated ends an attempt after which the server makes another one, without a mark of a failure.
func repeated(err error, delay time.Duration) error {
	return sdk.NewApplicationErrorWithOptions(engine.Remote(err).Message, typeAgain, sdk.ApplicationErrorOptions{
		NextRetryDelay: delay, Category: sdk.ApplicationErrorCategoryBenign,
	})
}

// safely returns a panic of f as its error: one of the user's Store is not the loss of a worker.
func safely(
	ctx context.Context, part *engine.Part, p guard.Progress,
	f func(ctx context.Context, part *engine.Part, p guard.Progress) (next guard.Progress, again bool, err error),
) (next guard.Progress, again bool, err error) {
	defer panics.Catch(&err)
	return f(ctx, part, p)
}

// beating reports d from time to time until stop is called.
func beating(ctx context.Context, d details) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, d)
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
