package httpclient

import (
	"context"
	"net/http"
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/replay"
	"github.com/headrace/headrace/retry"
)

// How long Retry waits where its options say nothing: what the limiters of
// this module do too.
const (
	defaultRetryMaxWait = 15 * time.Minute
	defaultRetryAfter   = 10 * time.Minute
)

// Retry is for Config.Wrap: it sends a request again that failed or was
// refused, for clients that have no limiter. Never put it together with
// headrace.Transport or an SDK that retries (WithMaxRetries(0) stops those): their attempts would multiply.
//
// What is sent again, if its body can be had again:
//
//   - Whatever the method, when nothing was sent: the host was not found, no
//     connection was made, the handshake of TLS failed. A certificate that is not trusted is final.
//   - Whatever the method, when it was refused: 429, 529, and 503 with a
//     Retry-After that can be read. The other side says that it has done nothing.
//   - Only what can do no harm twice, when it failed otherwise: 408, any other
//     5xx, a connection that broke or took too long. That is GET, HEAD, OPTIONS, TRACE, PUT, DELETE,
//     and any request with an Idempotency-Key or X-Idempotency-Key.
//
// A body can be had again if there is none, the request has GetBody, or it is
// at most 1 MiB and its length is known: it is read into memory then, before the first
// attempt. Any other can be sent again as long as nobody has read of it.
//
// p.MaxAttempts counts every attempt, refusals too: without a limiter nobody
// learns from them, and a bound that refusals pass would be none. p.Retryable and p.Except are
// asked about all of them; for an answer they get an *Error with CodeStatus, its
// StatusCode and Header. The wait is the policy's, but at least what Retry-After or
// Retry-After-Ms say; up to a tenth more, unless p has NoJitter. It ends with the request's context.
//
// When there is no further attempt the last answer or error is returned as it
// came. That is so at once if the wait would not end before the context's deadline, if the answer
// wants more than [RetryMaxRetryAfter], or if it were more than [RetryMaxWait] since the first refusal.
// Before a wait up to 64 KiB of the answer are read, so that the connection can be used
// again; if GetBody fails after it, what is longer ends with io.ErrUnexpectedEOF.
//
// Who cancels during a wait gets an *Error with CodeCanceled, as headrace.Transport does it: it matches
// context.Canceled, the cause of the context and what the last attempt failed with. Of an answer it has
// StatusCode, Header and the first 64 KiB of the Body, and it matches CodeStatus.
//
// What [Error.Final] says is final. A p or an option that cannot be used is an error of New; with another client, of every
// request. The round tripper is safe for concurrent use, changes no request, and works with any http.Client.
func Retry(p retry.Policy, opts ...RetryOption) func(next http.RoundTripper) http.RoundTripper {
	r := retrier{policy: p, maxWait: defaultRetryMaxWait, maxAfter: defaultRetryAfter}
	r.problems.Owner = "httpclient"
	r.problems.AddPart("Retry", p.Validate())
	for _, opt := range opts {
		opt(&r)
	}
	return func(next http.RoundTripper) http.RoundTripper {
		made := r
		made.next = next
		return &made
	}
}

// RetryOption is a setting of Retry.
type RetryOption func(*retrier)

// RetryMaxWait bounds how long after the first refusal of a request another
// attempt is begun. The default is 15 minutes.
func RetryMaxWait(d time.Duration) RetryOption {
	return func(r *retrier) {
		if r.maxWait = d; d <= 0 {
			r.problems.Addf("RetryMaxWait", "%v; want a positive duration, or leave it out for %v", d, defaultRetryMaxWait)
		}
	}
}

// RetryMaxRetryAfter is the longest Retry-After that is waited for; an answer
// that wants more is returned. The default is 10 minutes.
func RetryMaxRetryAfter(d time.Duration) RetryOption {
	return func(r *retrier) {
		if r.maxAfter = d; d <= 0 {
			r.problems.Addf("RetryMaxRetryAfter", "%v; want a positive duration, or leave it out for %v", d, defaultRetryAfter)
		}
	}
}

// retrier is what Retry makes.
type retrier struct {
	next              http.RoundTripper
	policy            retry.Policy
	maxWait, maxAfter time.Duration
	problems          invalid.Problems
}

// RoundTrip implements http.RoundTripper.
func (r *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.problems.Err(); err != nil {
		closeBody(req)
		return nil, err
	}
	body, err := replay.Of(req, false)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	x := resend{retrier: r, req: req, body: &body}
	out := req.WithContext(req.Context())
	if err := body.Next(out); err != nil {
		return nil, err
	}
	for {
		resp, err := r.next.RoundTrip(out)
		if resp != nil {
			resp.Request = req
		}
		wait, again := x.judge(resp, err)
		if !again {
			return resp, err
		}
		release(resp)
		if !pause(req.Context(), wait) {
			return x.brokenOff(resp, err) //nolint:contextcheck // as above
		}
		out = req.WithContext(req.Context())
		if body.Next(out) != nil { // GetBody has failed: there is no other attempt
			return resp, err
		}
	}
}

// CloseIdleConnections is for http.Client's method of this name.
func (r *retrier) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// release lets go of the connection of an answer, which may still be returned.
func release(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		kept := replay.Keep(resp.Body, resp.ContentLength)
		kept.Release()
		resp.Body = kept
	}
}

// pause waits; false if the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
