package headrace_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestConformance(t *testing.T) {
	const (
		estimated = "the transport estimates what a request costs"
		hosts     = "the guard of the host learns"
	)
	guardtest.Run(t, guardtest.Door{
		Name: "transport",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			if p.Retry == nil && len(p.Within) == 0 {
				p.Retry = &retry.Policy{MaxAttempts: 1} // the transport's own default is three
			}
			tr := headrace.Transport(tripper(answered), "", headrace.With(p), headrace.WithRegistry(emptyRegistry(t)),
				headrace.WithinOf(func(r *http.Request) *guard.Guard { return attemptsOf(r).Within() }))
			return func(ctx context.Context, _ throttle.Cost, a *guardtest.Attempts) error {
				req, err := http.NewRequestWithContext(context.WithValue(ctx, attemptsKey{}, a), http.MethodGet, "https://api.example.com/", nil)
				require.NoError(t, err)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				switch resp.StatusCode {
				case http.StatusOK:
					return nil
				case http.StatusTooManyRequests:
					return &adaptive.RateLimitHit{}
				case http.StatusPaymentRequired:
					return adaptive.ErrQuotaExhausted
				default:
					return &guardtest.StatusError{Status: resp.StatusCode}
				}
			}, guard.Join()
		},
		Lacks: map[string]string{
			guardtest.Trying:                                   "a round trip waits until its context ends",
			"a 429 is learned by the outer guard":              hosts,
			"a call that can never fit is an error":            estimated,
			"usage corrects the reservation":                   estimated,
			"usage is charged up to one window":                estimated,
			"a preset starts with what the provider documents": estimated,
		},
	})
}

type attemptsKey struct{}

func attemptsOf(req *http.Request) *guardtest.Attempts {
	a, _ := req.Context().Value(attemptsKey{}).(*guardtest.Attempts)
	return a
}

// answered is the answer of the script in the request's context.
func answered(req *http.Request) (*http.Response, error) {
	next := attemptsOf(req).Next()
	next.Write(req.Context())
	if next.Reports != nil {
		guard.Report(req.Context(), *next.Reports)
	}
	if err := next.Wait(req.Context()); err != nil {
		return nil, err
	}
	return next.Response(req), nil
}
