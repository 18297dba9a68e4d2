package httpclient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/retry"
)

// latest is by how much a Retry-After is exceeded at most, so that requests
// which were refused together do not come back together: a tenth.
const latest = 10

// resend is one request on its way through a retrier.
type resend struct {
	*retrier
	req      *http.Request
	body     *replay.Body
	schedule *retry.Schedule // nil: all went well so far
	refused  time.Time       // for the first time
}

// judge decides whether there is another attempt, and after how long.
func (x *resend) judge(resp *http.Response, err error) (wait time.Duration, again bool) {
	ctx, now := x.req.Context(), time.Now()
	outcome, told := outcomeOf(resp, err, now)
	if !outcome.Allows(x.req) || !x.body.Replayable() || ctx.Err() != nil || told > x.maxAfter {
		return 0, false
	}
	if x.schedule == nil {
		x.schedule = x.policy.Start()
	}
	wait, again = x.schedule.Next(reason(resp, err))
	wait = max(wait, x.spread(told))
	if outcome == replay.Refused && x.refused.IsZero() {
		x.refused = now
	}
	if !x.refused.IsZero() && now.Sub(x.refused) > x.maxWait-wait {
		return 0, false
	}
	if deadline, set := ctx.Deadline(); set && wait >= deadline.Sub(now) {
		return 0, false
	}
	return wait, again
}

// spread makes d longer, never shorter.
func (x *resend) spread(d time.Duration) time.Duration {
	if x.policy.NoJitter || d > math.MaxInt64/2 {
		return d
	}
	return d + rand.N(d/latest+1) //nolint:gosec // jitter, not a secret
}

// outcomeOf judges an attempt; told is what the answer says how long to wait.
func outcomeOf(resp *http.Response, err error, now time.Time) (o replay.Outcome, told time.Duration) {
	switch {
	case err != nil:
		return outcomeOfError(err), 0
	case resp == nil:
		return replay.Final, 0 // whoever is outside says so
	}
	told, ok := retry.RetryAfter(resp.Header, now)
	return replay.OfStatus(resp.StatusCode, ok), told
}

func outcomeOfError(err error) replay.Outcome {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return replay.OfError(err, neverDialled(err))
	}
	if errors.Is(err, ErrClosed) {
		return replay.Final
	}
	return replay.OfError(err, failed.Phase == PhaseConnect || failed.Phase == PhaseTLS) // a phase never goes back, so nothing was sent
}

// neverDialled is for the errors of other clients, which tell no phase.
func neverDialled(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" || isA[*net.DNSError](err)
}

// reason is what the policy is asked about.
func reason(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	failed := fromOutside(resp)
	failed.StatusCode, failed.Header = resp.StatusCode, resp.Header
	return failed
}

// brokenOff ends a request whose wait was broken off. A deadline takes nothing away from who has an answer.
func (x *resend) brokenOff(resp *http.Response, err error) (*http.Response, error) {
	if !errors.Is(x.req.Context().Err(), context.Canceled) {
		return resp, err
	}
	return nil, x.cancelled(resp, err)
}

// cancelled is the error of a request that was cancelled while it waited for another
// attempt, after what the last one came to.
func (x *resend) cancelled(resp *http.Response, err error) error {
	why := reason(resp, err)
	cause := fmt.Errorf("%w while waiting to try again: %w", ended(x.req.Context()), why)
	var failed *Error
	if c := callOf(x.req.Context()); c != nil {
		failed = c.fail(CodeCanceled, c.lastPhase(), cause, nil)
	} else {
		failed = fromRequest(x.req)
		failed.Code, failed.cause = CodeCanceled, cause
	}
	if resp != nil {
		failed.StatusCode, failed.Header = resp.StatusCode, resp.Header
		if kept, ok := resp.Body.(*replay.Answer); ok {
			failed.Body = kept.Head()
		}
	}
	return failed
}
