package headrace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

// What an httpclient below says would only come again is not sent again.
func TestErrorsOfAClientBelowThatAreFinal(t *testing.T) {
	broken := errors.New("the file is gone")
	upload := func(t *testing.T) *http.Request {
		t.Helper()
		body := func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken))), nil
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://api.example/", nil)
		require.NoError(t, err)
		req.Body, _ = body()
		req.GetBody = body
		return req
	}
	get := func(t *testing.T) *http.Request {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/", http.NoBody)
		require.NoError(t, err)
		return req
	}
	for name, c := range map[string]struct {
		request func(*testing.T) *http.Request
		refuses int // what the proxy answers to CONNECT
		code    httpclient.Code
		calls   int64
	}{
		"the body of the request breaks": {upload, 0, httpclient.CodeUpload, 1},
		"the proxy refuses":              {get, http.StatusForbidden, httpclient.CodeConnect, 1},
		"the proxy is not well":          {get, http.StatusBadGateway, httpclient.CodeConnect, 3},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := limiter(t)
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(max(c.refuses, http.StatusOK))
			}))
			defer proxy.Close()
			at, err := url.Parse(proxy.URL)
			require.NoError(t, err)
			var calls atomic.Int64
			client, err := httpclient.New(httpclient.Config{
				Proxies: map[string]*url.URL{"api.example": at},
				Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
					counted := tripper(func(r *http.Request) (*http.Response, error) {
						calls.Add(1)
						return next.RoundTrip(r)
					})
					return under(counted, presets.OpenAITier1, l,
						guard.Policy{Retry: &retry.Policy{Initial: time.Nanosecond, Max: time.Nanosecond}})
				}},
			})
			require.NoError(t, err)
			defer client.Close()
			_, err = client.Do(c.request(t)) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, c.code)
			assert.Equal(t, c.calls, calls.Load())
		})
	}
}

// An error of a wait that was cancelled for a reason matches both.
func TestACancelledWaitMatchesContextCanceled(t *testing.T) {
	reason := errors.New("no longer wanted")
	for name, failed := range map[string]tripper{
		"after a refusal": func(*http.Request) (*http.Response, error) {
			return answer(http.StatusTooManyRequests, "Retry-After: 30", "{}"), nil
		},
		"after a failure": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := limiter(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				base := tripper(func(r *http.Request) (*http.Response, error) {
					time.AfterFunc(time.Second, func() { cancel(reason) })
					return failed(r)
				})
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, secretURL, http.NoBody)
				require.NoError(t, err)
				patient := guard.Policy{Retry: &retry.Policy{Initial: time.Minute, Max: time.Minute}}
				_, err = under(base, presets.OpenAITier1, l, patient).RoundTrip(req) //nolint:bodyclose // there is none
				require.ErrorIs(t, err, context.Canceled)
				assert.ErrorIs(t, err, reason)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
			})
		})
	}
}
