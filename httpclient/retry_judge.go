package httpclient

import (
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
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
	if slices.Contains([]Code{CodeCanceled, CodeUnsent, CodeUpload, CodeBodyLimit, CodeRedirect, CodeStatus}, failed.Code) {
		return replay.Final
	}
	if p, ok := errors.AsType[*proxyError](err); ok && p.final() {
		return replay.Final
	}
	if failed.Phase == PhasePrepare || errors.Is(err, ErrClosed) || isA[*resentError](err) { // net/http has resent that one itself
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
