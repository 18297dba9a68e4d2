package providertest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

func TestLatencyPassesInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{Latency: providertest.Fixed(time.Hour)})
		start := time.Now()
		require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
		require.Equal(t, time.Hour, time.Since(start))
		for a := range s.Ledger().All() {
			require.Equal(t, time.Hour, a.Done.Sub(a.At))
		}
	})
}

func TestLatenciesFollowTheSeed(t *testing.T) {
	run := func(seed uint64) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, providertest.Config{
				Seed:    seed,
				Latency: providertest.LogNormal{Median: time.Second, Sigma: 0.5},
				Limits:  providertest.Limits{Concurrency: 5},
			})
			var wg sync.WaitGroup
			for range 10 { // five of them refused, which must not shift the others
				wg.Go(func() { send(t, s.Transport(), base, "", hello) })
			}
			wg.Wait()
			for a := range s.Ledger().All() {
				if a.Admitted {
					all = append(all, a.Done.Sub(a.At))
				}
			}
		})
		return all
	}
	require.Len(t, run(1), 5)
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

func TestCancelEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{
			Limits:         providertest.Limits{Concurrency: 1},
			Latency:        providertest.Fixed(time.Hour),
			RefusalLatency: time.Hour,
		})
		bored := errors.New("bored")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				res, err := s.Transport().RoundTrip(newRequest(ctx, t, base, "k", hello))
				if err == nil {
					err = res.Body.Close()
				}
				errs[i] = err
			})
			synctest.Wait()
		}
		elapse(time.Minute)
		cancel(bored)
		wg.Wait()
		require.Equal(t, []error{bored, bored}, errs)

		require.Equal(t, providertest.Counts{Arrivals: 2, Admitted: 1, Refused: 1, Aborted: 1, PeakInFlight: 1}, s.Counts())
		for a := range s.Ledger().All() {
			require.Equal(t, time.Minute, a.Done.Sub(a.At))
			require.Zero(t, a.Status)
			require.Equal(t, a.Admitted, a.Aborted)
			require.Equal(t, 1, a.InFlight)
		}
		require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "k", hello).status, "the slot is free again")
	})
}

func TestClientTimeoutInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{Latency: providertest.Fixed(time.Hour)})
		client := &http.Client{Transport: s.Transport(), Timeout: time.Second}
		res, err := client.Do(newRequest(t.Context(), t, base, "", hello))
		if err == nil {
			require.NoError(t, res.Body.Close())
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, s.Counts().Aborted)
	})
}

func TestReplyThatOutlivesItsClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, providertest.Config{Reply: func(providertest.Request) string { cancel(); return "too late" }})
	res, err := s.Transport().RoundTrip(newRequest(ctx, t, base, "", hello))
	if err == nil {
		require.NoError(t, res.Body.Close())
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, s.Counts().Aborted)
}

func TestTransportIsAProperRoundTripper(t *testing.T) {
	s := newServer(t, providertest.Config{})
	body := &closeCounter{Reader: strings.NewReader(hello)}
	req := newRequest(t.Context(), t, base, "", "")
	req.Body = body
	req.Header = nil
	require.Equal(t, http.StatusOK, do(t, s.Transport(), req).status)
	require.Equal(t, 1, body.closed)
	require.Nil(t, req.Header, "the request is left as it was")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Transport().RoundTrip(newRequest(canceled, t, base, "", hello)) //nolint:bodyclose // fails
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Transport().RoundTrip(&http.Request{}) //nolint:bodyclose // fails
	require.ErrorContains(t, err, "without a URL")
	require.Equal(t, 1, s.Counts().Arrivals, "those never arrived")

	s.Close()
	_, err = s.Transport().RoundTrip(newRequest(t.Context(), t, base, "", hello)) //nolint:bodyclose // fails
	require.ErrorIs(t, err, http.ErrServerClosed)
}

type closeCounter struct {
	*strings.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }
