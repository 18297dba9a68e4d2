package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/internal/sdktest"
)

// A client that still retries by itself is reported once.
func TestSDKRetriesAreNoticed(t *testing.T) { suite().RetriesAreNoticed(t, headrace.SDKRetries) }

// What the limiter itself says comes through the SDK.
func TestErrorsOfTheLimiter(t *testing.T) { suite().LimiterErrors(t) }

// With httpclient, redirects are not followed, and the error says so.
func TestRedirectKeepsTheKey(t *testing.T) {
	suite().RedirectIsNotFollowed(t)
	t.Run("whoever follows redirects leaks it", whoFollowsLeaks)
}

// This is why docs/http.md and the doc of Transport warn. net/http takes
// Authorization and Cookie off a request that a redirect sends to another host,
// and X-Api-Key is not on its list: any http.Client that follows gives the key
// away, by itself or under the SDK. A Transport below it sends what it is given:
// each hop is a request to it, and no field of a header says that it is secret.
func whoFollowsLeaks(t *testing.T) {
	s := suite()
	keys := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
		sdktest.Always(200, hello)(0, w, r)
	}))
	defer elsewhere.Close()
	provider := httptest.NewServer(sdktest.Handler(sdktest.Redirect(strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1))))
	defer provider.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	for name, by := range map[string]*http.Client{
		"without Transport": {Transport: base},
		"over Transport":    {Transport: s.Under(base)},
	} {
		t.Run("the SDK "+name, func(t *testing.T) {
			_, _, err := s.Client(by, provider.URL)(t.Context(), false)
			require.NoError(t, err)
			require.Equal(t, sdktest.Canary, <-keys)
		})
		t.Run("a bare client "+name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, provider.URL+"/v1/messages", strings.NewReader(`{}`))
			require.NoError(t, err)
			r.Header.Set("X-Api-Key", sdktest.Canary)
			r.Header.Set("Authorization", "Bearer "+sdktest.Canary)
			answer, err := by.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, sdktest.Canary, <-keys, "X-Api-Key went along, and Authorization did not")
		})
	}
}

// The SDK gives an answer that is not streamed ten minutes, and counts the wait
// for its turn: newClient gives it more.
func TestTheWaitIsNoTimeout(t *testing.T) {
	slow := func(n int, w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(3 * time.Minute)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
		sdktest.Always(200, hello)(n, w, r)
	}
	s := suite()
	refused := sdktest.Once(s.Refuse(429, "Retry-After", "540"), slow)
	patient, err := s.Once(t, sdktest.Case{Answer: refused}, s.Under)
	require.NoError(t, err)
	require.Equal(t, sdktest.Outcome{Text: "hello", Tokens: 4, Calls: 2}, patient)

	synctest.Test(t, func(t *testing.T) {
		transport := s.Under(sdktest.Listen(t, sdktest.Handler(refused)))
		client := anthropic.NewClient(append(local(sdktest.URL), option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: transport}))...)
		_, _, err := call(client)(t.Context(), false)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// The key is in nothing that is reported, logged, printed or returned.
func TestTheKeyIsNeverTold(t *testing.T) { suite().KeyIsNeverTold(t) }
