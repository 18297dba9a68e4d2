package endpoint

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/retry"
)

// longestPause is the longest Retry-After that Config.MaxRetries waits for.
const longestPause = time.Minute

// rest waits before another attempt after err. It returns false if there is to be none.
func rest(ctx context.Context, s *retry.Schedule, err error, req *http.Request) bool {
	failed, ok := errors.AsType[*httpclient.Error](err)
	if !ok || ctx.Err() != nil || errors.As(err, new(*fault.PanicError)) {
		return false
	}
	var outcome replay.Outcome
	var asked time.Duration
	switch failed.Code {
	case httpclient.CodeStatus:
		var told bool
		asked, told = retry.RetryAfter(failed.Header, time.Now())
		outcome = replay.OfStatus(failed.StatusCode, told)
	case httpclient.CodeAnswer:
		outcome = replay.Failed
	default:
		outcome = replay.OfError(err, unsent(failed.Phase))
	}
	if !outcome.Allows(req) || asked > longestPause {
		return false
	}
	delay, again := s.Next(err)
	delay = max(delay, asked)
	if end, has := ctx.Deadline(); !again || has && delay >= time.Until(end) {
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unsent reports whether the server cannot have seen an attempt that ended in this phase.
func unsent(p httpclient.Phase) bool {
	return p == httpclient.PhasePrepare || p == httpclient.PhaseConnect || p == httpclient.PhaseTLS
}
