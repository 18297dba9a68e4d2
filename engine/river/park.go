package riverguard

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/throttle"
)

// The bounds of a snooze.
const (
	shortestSnooze = time.Second
	longestSnooze  = 15 * time.Minute
	// quotaLook is after how long jobs are tried again when it is not known how long a
	// quota is used up. It is the first pause of package guard between two probes.
	quotaLook = time.Minute
)

// parking is how a job goes back to its queue.
type parking struct {
	middleware *Middleware
	job        *rivertype.JobRow
	hold       time.Duration
	snoozes    int32
}

// closedError is why a job was not sent: the guard admits no call for so long.
type closedError struct {
	wait time.Duration
	why  string
}

func (c *closedError) Error() string { return "riverguard: " + c.why }

// unsent returns what becomes of a job that was not admitted because of err.
func (p *parking) unsent(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil: // cancelled, or the client stops
		return context.Cause(ctx)
	case adaptive.Refused(err), errors.Is(err, throttle.ErrLimited), errors.Is(err, errHeld),
		errors.As(err, new(*breaker.OpenError)), p.closed(err):
		return p.park(ctx, err)
	}
	return err
}

// closed reports whether err is the cause with which the program closed the guard.
func (p *parking) closed(err error) bool {
	cause := p.middleware.guard.Stats().Closed
	return cause != nil && errors.Is(err, cause)
}

// park returns the snooze of a job that was not processed, because of err, and pauses the
// queue if no other job would be admitted either.
func (p *parking) park(ctx context.Context, err error) error {
	_ = river.MetadataSet(ctx, "headrace", reason(err)) // it is shown with the job; the last reason stays
	wait, reach := p.wait(err)
	if q := p.middleware.queue; q != nil {
		switch {
		case reach == line, reach == everywhere && wait <= p.hold:
			return p.keepPlace()
		case reach == everywhere && q.pause(ctx, p.middleware.guard, wait, err):
			return p.keepPlace()
		}
	}
	wait = min(max(wait, shortestSnooze), longestSnooze)
	return river.JobSnooze(wait + rand.N(wait/10)) //nolint:gosec // it only spreads jobs
}

// reason is err without the words of the provider, which may repeat what it was sent.
func reason(err error) string {
	if errors.Is(err, adaptive.ErrQuotaExhausted) {
		return adaptive.ErrQuotaExhausted.Error()
	}
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		return hit.Error()
	}
	return err.Error()
}

// reach says which other jobs have to wait as long as this one.
type reach uint8

const (
	process    reach = iota // those of this process, perhaps
	line                    // none: it only was not its turn, and it has waited for that
	everywhere              // all, in all processes
)

// wait returns how long a job that ended with err has to wait.
func (p *parking) wait(err error) (time.Duration, reach) {
	if closed, ok := errors.AsType[*closedError](err); ok {
		return closed.wait, everywhere
	}
	if errors.Is(err, adaptive.ErrQuotaExhausted) {
		return p.unknown(), everywhere
	}
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		return max(hit.RetryAfter, p.middleware.paused()), everywhere
	}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		return open.RetryAfter, process
	}
	if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
		return limited.RetryAfter, process
	}
	if late, ok := errors.AsType[*throttle.DeadlineError](err); ok {
		return late.Wait, process
	}
	if errors.Is(err, errHeld) {
		return p.hold, line
	}
	return p.unknown(), process // the program has closed the guard
}

// unknown is a wait with an unknown end. It grows with the snoozes of the job.
func (p *parking) unknown() time.Duration {
	return quotaLook * time.Duration(min(p.snoozes, int32(longestSnooze/quotaLook)-1)+1)
}

// keepPlace returns a snooze after which the job is as old as before. River fetches jobs of one priority in
// the order of ScheduledAt, so that a job that was snoozed is not behind all that were inserted meanwhile.
// It waits in a worker again then, or in a queue that is paused.
func (p *parking) keepPlace() error {
	if p.job.ScheduledAt.IsZero() {
		return river.JobSnooze(0)
	}
	return &rivertype.JobSnoozeError{Duration: min(time.Until(p.job.ScheduledAt), 0)}
}
