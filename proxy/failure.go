package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/internal/nothttp"
	"github.com/headrace/headrace/internal/openfiles"
	"github.com/headrace/headrace/throttle"
)

// longestFollowed is the longest Retry-After that all SDKs keep to. After a longer
// one some come back at once.
const longestFollowed = time.Minute

// failure is an answer of the proxy itself. Its text has no part of a request but
// names that were checked.
type failure struct {
	code       Code
	text       string
	retryAfter time.Duration // 0: it is not said
}

func (f *failure) Error() string { return string(f.code) + ": " + f.text }

func fail(code Code, format string, args ...any) *failure {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// panicked is the answer for a panic of the proxy itself.
func panicked() *failure { return fail(CodeInternal, "the proxy panicked; this is a bug") }

// again reports whether the client should send the request again by itself.
func (f *failure) again() bool {
	switch f.code {
	case CodeQuota, CodeInternal:
		return false
	case CodeSlow:
		return true
	default:
		return f.code.status() >= http.StatusTooManyRequests && f.retryAfter <= longestFollowed
	}
}

// headers are those of every answer of the proxy itself.
func (f *failure) headers(h http.Header) {
	h.Set("X-Headrace-Error", string(f.code))
	h.Set("X-Should-Retry", strconv.FormatBool(f.again()))
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(f.retryAfter.Seconds())), 10))
	}
	h.Set("Cache-Control", "no-store")
}

// failed is the answer for an error of the transport, nil if the client is gone.
func failed(ctx context.Context, u *upstream, err error) *failure {
	if f, ok := errors.AsType[*failure](context.Cause(ctx)); ok {
		return f
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	if f := held(u, err); f != nil {
		return f
	}
	if errors.As(err, new(*fault.PanicError)) {
		return fail(CodeInternal, "the transport to %s panicked; this is a bug", u.name)
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return fail(CodeTimeout, "%s did not answer in time: %s", u.name, reason(err))
	}
	if openfiles.Exhausted(err) {
		return fail(CodeUnreachable, "%s cannot be reached: the proxy has no file descriptor left for a connection. Raise its limit on open files (ulimit -n, or LimitNOFILE of systemd)", u.name)
	}
	if network(err) == "" && nothttp.Is(err) {
		return fail(CodeUnreachable, "%s was reached at %s, but its response is not valid HTTP. Check the scheme, host and port in the URL of the upstream", u.name, u.url.Host)
	}
	return fail(CodeUnreachable, "%s cannot be reached at %s: %s. Check the network, and the URL of the upstream", u.name, u.url.Host, reason(err))
}

// held is the answer for a request that was not admitted, nil for other errors.
func held(u *upstream, err error) *failure {
	if store, ok := errors.AsType[*inflight.StoreError](err); ok {
		why := cmp.Or(network(store.Err), "no usable response")
		f := fail(CodeStore, "the request was not sent to %s, because the store of the shared limits is unavailable: %s", u.name, why)
		f.retryAfter = time.Second
		if open, ok := errors.AsType[*breaker.OpenError](store.Err); ok {
			f.retryAfter = open.RetryAfter
		}
		return f
	}
	if errors.Is(err, adaptive.ErrQuotaExhausted) {
		return fail(CodeQuota, "%s reports that the quota or the credit of this key is used up: check the billing there; the proxy sends one request from time to time to see", u.name)
	}
	if full, ok := errors.AsType[*line.FullError](err); ok {
		f := fail(CodeQueueFull, "%d requests wait for %s already, the maximum: try again later, send fewer at a time, or raise --max-queue", full.Waiting, u.name)
		f.retryAfter = full.RetryAfter
		return f
	}
	if long, ok := errors.AsType[*line.WaitError](err); ok {
		f := fail(CodeWait, "%s did not allow the request within %s: try again later, send fewer at a time, or raise --max-wait", u.name, long.Waited.Round(time.Second))
		f.retryAfter = long.RetryAfter
		return f
	}
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		f := fail(CodeLimited, "%s asks for a longer wait than this proxy allows", u.name)
		f.retryAfter = hit.RetryAfter
		return f
	}
	if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
		f := fail(CodeQueueFull, "the limit of %q, which the policy of this proxy sets, admits no more calls: try again, or raise it", limited.Limiter)
		f.retryAfter = limited.RetryAfter
		return f
	}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		f := fail(CodeBreaker, "%s keeps failing, so calls are stopped for now", u.name)
		f.retryAfter = open.RetryAfter
		return f
	}
	if cost, ok := errors.AsType[*throttle.CostError](err); ok {
		return fail(CodeCost, "a cost of %d %s never fits the limits of %q: split the request, or raise the limit", cost.Amount, cost.Unit, cost.Limiter)
	}
	return nil
}

// reason is why there was no answer, in words that repeat nothing of the request.
func reason(err error) string {
	if why := network(err); why != "" {
		return why
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no response in the time that the policy allows"
	}
	return "the exchange failed before there was an answer"
}

// network is what an error of a connection means; empty for other errors.
func network(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "there is no such host"
		}
		return "the name lookup failed"
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "its certificate is not valid"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "dial" && op.Err != nil && !op.Timeout() {
			return "the connection was refused or there is no route"
		}
		if op.Op == "dial" {
			return "no connection could be made in time"
		}
		return "the connection broke"
	}
	return ""
}
