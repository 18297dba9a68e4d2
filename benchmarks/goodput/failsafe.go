package goodput

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/headrace/headrace/internal/simulate/client"
)

// What a retry waits for where the provider does not say: the figures of the
// official SDKs, as in the simulator.
const (
	firstBackoff  = 500 * time.Millisecond
	longestWait   = 8 * time.Second
	backoffJitter = 0.25 // up and down, of a Retry-After too
)

// retryPool is failsafe-go's HTTP retry policy under a fixed pool of workers.
func retryPool() Contender {
	return Contender{
		Name:      "failsafe-go retry, pool of 32",
		About:     "failsafehttp's retry policy with unlimited retries: Retry-After, or else a delay of 0.5 s that doubles up to 8 s, with a jitter of 25 %",
		Workers:   poolWorkers,
		Simulated: &client.Contender{Name: "pool", New: newPool},
		Start: func(w *wire, _ uint64) (Caller, error) {
			return w.through(unending(failsafehttp.NewRetryPolicyBuilder())), nil //nolint:bodyclose // no answer yet
		},
	}
}

// adaptiveRetry adds failsafe-go's adaptive limiter, which judges latencies:
// callers wait for it as long as it takes, and do not hold its permit while
// they wait for a retry.
func adaptiveRetry() Contender {
	return Contender{
		Name:    "failsafe-go adaptive + retry",
		About:   "its adaptive limiter from 1 to 64 calls, starting at its default of 20, inside the same retry policy",
		Workers: adaptiveWorkers,
		Start: func(w *wire, _ uint64) (Caller, error) {
			retry := unending(failsafehttp.NewRetryPolicyBuilder())     //nolint:bodyclose // no answer yet
			return w.through(retry, patient[*http.Response](most)), nil //nolint:bodyclose // as above
		},
	}
}

// unending is a policy that never gives up.
func unending[R any](b retrypolicy.Builder[R]) retrypolicy.RetryPolicy[R] {
	return b.WithBackoff(firstBackoff, longestWait).WithJitterFactor(backoffJitter).WithMaxRetries(-1).Build()
}

// patient is a limiter that rejects no call.
func patient[R any](most uint) adaptivelimiter.AdaptiveLimiter[R] {
	return adaptivelimiter.NewBuilder[R]().WithLimits(1, most, 20).WithMaxWaitTime(time.Hour).Build()
}

// through makes calls through failsafe-go's round tripper.
func (w *wire) through(policies ...failsafe.Policy[*http.Response]) Caller {
	transport := failsafehttp.NewRoundTripper(whole{w.transport}, policies...)
	return func(ctx context.Context) error {
		request, err := w.request(ctx)
		if err != nil {
			return err
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	}
}
