package run

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/guardtest"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// The batch of a run is a node.Batch, which passes the suite in its own package.
// The suite tests the calls of the run here.
func TestConformance(t *testing.T) {
	const (
		estimated = "a run estimates what a request costs"
		judged    = "a run reports the verdict of the dialect"
		stops     = "a used-up quota ends the run"
		wire      = "a run calls no user code: a panic in the client is a network error"
	)
	guardtest.Run(t, guardtest.Door{
		Name: "headrace run",
		Open: func(t *testing.T, p guard.Policy) (guardtest.Caller, *guard.Guard) {
			t.Helper()
			c := &caller{
				Run:  &settings.Run{Base: &url.URL{Scheme: "https", Host: "api.example.com"}, Dialect: dialect.Auto},
				once: func(*requests.Request) string { return "" }, stop: func(error) {}, alike: alike{off: true},
			}
			var err error
			c.client, err = httpclient.New(httpclient.Config{
				NoIDs: true, Timeouts: httpclient.Timeouts{NoCall: true},
				Wrap: []func(http.RoundTripper) http.RoundTripper{func(http.RoundTripper) http.RoundTripper { return scripted{} }},
			})
			require.NoError(t, err)
			t.Cleanup(c.client.Close)
			b := node.Map("requests", func(ctx context.Context, a *guardtest.Attempts) (results.Answer, error) {
				return c.call(context.WithValue(ctx, attemptsKey{}, a), requests.Request{URL: "/", Body: "{}"})
			}).With(p).WithGrace(0).WithinOf(func(a *guardtest.Attempts) *guard.Guard { return a.Within() })
			require.NoError(t, b.Validate())
			return func(ctx context.Context, _ throttle.Cost, a *guardtest.Attempts) error {
				_, err := b.All(ctx, []*guardtest.Attempts{a})
				failed, ok := errors.AsType[*results.RecordedError](err)
				switch {
				case !ok || failed.StatusCode == 0:
					return err
				case failed.StatusCode == http.StatusTooManyRequests:
					return &adaptive.RateLimitHit{}
				}
				return &guardtest.StatusError{Status: failed.StatusCode}
			}, b.Guard()
		},
		Lacks: map[string]string{
			guardtest.Trying: "a request waits until the run ends",
			"a preset starts with what the provider documents":       estimated,
			"a call that can never fit is an error":                  estimated,
			"usage corrects the reservation":                         estimated,
			"usage is charged up to one window":                      estimated,
			"a verdict that the call reports is used":                judged,
			"the nearest detector judges, for all layers":            judged,
			"a detector's rejection is waited out":                   judged,
			"a final response is not retried":                        judged,
			"a used-up quota stops other calls, and is probed":       stops,
			"a used-up quota closes only the guard it belongs to":    stops,
			"a panic with nil gives the slot back":                   wire,
			"a slot of a store is given back":                        wire,
			"a panic is a failure for the breaker":                   wire,
			"a panic is an error and is not retried":                 wire,
			"a call that needs two limits is not overtaken for ever": "each call of this door is a batch of its own, and batches are served in turn",
		},
	})
}

type attemptsKey struct{}

// scripted answers by the script in the request's context.
type scripted struct{}

func (scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	a, _ := req.Context().Value(attemptsKey{}).(*guardtest.Attempts)
	next := a.Next()
	next.Write(req.Context())
	if err := next.Wait(req.Context()); err != nil {
		return nil, err
	}
	return next.Response(req), nil
}

// A part of a body is not the answer if it is the end of the context that cut it off.
func TestACancelledCallReadsNoPartOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := &caller{Run: &settings.Run{Dialect: dialect.Auto}}
		body, server := io.Pipe()
		context.AfterFunc(ctx, func() { _ = server.CloseWithError(ctx.Err()) })
		go func() { _, _ = server.Write([]byte(`{"error":`)) }()
		_, err := c.read(ctx, &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Body: body, ContentLength: -1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
