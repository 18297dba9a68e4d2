package providertest_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

// oneIn1500ms refuses every second of two requests.
var oneIn1500ms = providertest.Limits{Rate: providertest.Bucket{PerSecond: 1 / 1.5, Burst: 1}}

func TestRefusalBody(t *testing.T) {
	s := newServer(t, providertest.Config{Limits: oneIn1500ms})
	require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
	got := send(t, s.Transport(), base, "", hello)
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.JSONEq(t, `{"error": {
		"message": "Rate limit reached for test-1 on requests. Please try again later.",
		"type": "requests", "param": null, "code": "rate_limit_exceeded"
	}}`, got.body)
	require.Empty(t, got.header.Get("Retry-After"))
	require.Empty(t, got.header.Get("X-Ratelimit-Limit-Requests"))
}

func TestRetryAfterIsTrue(t *testing.T) {
	for _, c := range []struct {
		form            providertest.RetryAfter
		latency         time.Duration
		seconds, millis string
	}{
		{providertest.NoRetryAfter, 0, "", ""},
		{providertest.RetryAfterSeconds, 0, "2", ""},
		{providertest.RetryAfterMillis, 0, "2", "1500"},
		{providertest.RetryAfterMillis, 500500 * time.Microsecond, "1", "1000"},
		{providertest.RetryAfterMillis, time.Minute, "0", "0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, providertest.Config{Limits: oneIn1500ms, RetryAfter: c.form, RefusalLatency: c.latency})
			send(t, s.Transport(), base, "", hello)
			start := time.Now()
			got := send(t, s.Transport(), base, "", hello)
			require.Equal(t, c.latency, time.Since(start))
			require.Equal(t, http.StatusTooManyRequests, got.status)
			require.Equal(t, c.seconds, got.header.Get("Retry-After"))
			require.Equal(t, c.millis, got.header.Get("Retry-After-Ms"))
		})
	}
}

func TestWhoWaitsIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{
			Limits: providertest.Limits{
				Rate:   providertest.Bucket{PerSecond: 7. / 3, Burst: 2},
				Window: providertest.FixedWindow{Max: 5, Per: 4 * time.Second},
			},
			RetryAfter: providertest.RetryAfterMillis,
		})
		refused := 0
		for range 40 {
			got := send(t, s.Transport(), base, "", hello)
			if got.status == http.StatusOK {
				continue
			}
			refused++
			wait, err := time.ParseDuration(got.header.Get("Retry-After-Ms") + "ms")
			require.NoError(t, err)
			elapse(wait)
			require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
		}
		require.Positive(t, refused)
		require.Equal(t, refused, s.Counts().Refused)
	})
}

func TestRateLimitHeaders(t *testing.T) {
	type headers struct{ limit, remaining, reset string }
	of := func(r reply) headers {
		return headers{
			r.header.Get("x-ratelimit-limit-requests"),
			r.header.Get("x-ratelimit-remaining-requests"),
			r.header.Get("x-ratelimit-reset-requests"),
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{
			Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: 1, Burst: 2}},
			Headers: true,
		})
		require.Equal(t, headers{"2", "1", "1s"}, of(send(t, s.Transport(), base, "", hello)))
		elapse(250*time.Millisecond + time.Microsecond)
		require.Equal(t, headers{"2", "0", "1.75s"}, of(send(t, s.Transport(), base, "", hello)))
		refused := send(t, s.Transport(), base, "", hello)
		require.Equal(t, http.StatusTooManyRequests, refused.status)
		require.Equal(t, headers{"2", "0", "1.75s"}, of(refused))

		require.NoError(t, s.SetLimits(providertest.Limits{Window: providertest.FixedWindow{Max: 500, Per: 10 * time.Minute}}))
		elapse(4*time.Minute - 250*time.Millisecond - time.Microsecond)
		require.Equal(t, headers{"500", "499", "6m0s"}, of(send(t, s.Transport(), base, "", hello)))

		require.NoError(t, s.SetLimits(providertest.Limits{Concurrency: 1}))
		require.Equal(t, headers{}, of(send(t, s.Transport(), base, "", hello)), "nothing to tell")
	})
}

func TestConcurrencyRefusalKnowsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{
			Limits:     providertest.Limits{Concurrency: 1},
			RetryAfter: providertest.RetryAfterMillis,
			Latency:    providertest.Fixed(time.Second),
		})
		var first reply
		go func() { first = send(t, s.Transport(), base, "", hello) }()
		synctest.Wait()
		got := send(t, s.Transport(), base, "", hello)
		require.Equal(t, http.StatusTooManyRequests, got.status)
		require.Equal(t, "concurrency", got.apiError(t).Type)
		require.Empty(t, got.header.Get("Retry-After"))
		require.Empty(t, got.header.Get("Retry-After-Ms"))
		elapse(time.Second)
		synctest.Wait()
		require.Equal(t, http.StatusOK, first.status)
		require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
	})
}
