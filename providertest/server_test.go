package providertest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

// forever is a latency that no test waits for.
const forever = providertest.Fixed(24 * time.Hour)

func TestNewRefuses(t *testing.T) {
	s, err := providertest.New(providertest.Config{Limits: providertest.Limits{Concurrency: -1}})
	require.Nil(t, s)
	var problem *providertest.ConfigError
	require.ErrorAs(t, err, &problem)
	require.Equal(t, "Limits.Concurrency", problem.Field)
}

func TestServerOverRealHTTP(t *testing.T) {
	s := newServer(t, providertest.Config{Limits: providertest.Limits{Concurrency: 8}})
	require.Equal(t, s.URL(), s.URL())
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, s.URL())
	const workers, each = 8, 50
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				got := send(t, s.Client().Transport, s.URL(), fmt.Sprintf("%d/%d", w, i), hello)
				if got.status != http.StatusOK { // a slot is free before its answer can be read
					t.Errorf("refused within the cap: %d %s", got.status, got.body)
				}
			}
		})
	}
	wg.Wait()
	counts := s.Counts()
	require.LessOrEqual(t, counts.PeakInFlight, workers)
	counts.PeakInFlight = 0
	require.Equal(t, providertest.Counts{Arrivals: 400, Admitted: 400, Served: 400}, counts)
	ledger := s.Ledger()
	seq := int64(0)
	for a := range ledger.All() {
		seq++
		require.Equal(t, seq, a.Seq)
		require.True(t, a.Served())
		require.Equal(t, 1, ledger.ByKey()[a.Key])
		if seq == 20 {
			break
		}
	}
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	s := newServer(t, providertest.Config{Latency: forever})
	url := s.URL()
	mounted := httptest.NewServer(s.Handler())
	defer mounted.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := s.Client().Do(newRequest(t.Context(), t, url, "", hello))
			if err == nil { // a 503, if it was quicker than the end of the connection
				_ = res.Body.Close()
			}
		})
		wg.Go(func() {
			require503(t, send(t, mounted.Client().Transport, mounted.URL, "", hello))
		})
		wg.Go(func() {
			require503(t, send(t, s.Transport(), base, "", hello))
		})
	}
	awaitInFlight(t, s, 12)
	for range 3 {
		wg.Go(s.Close)
	}
	s.Close()
	require.Equal(t, providertest.Counts{Arrivals: 12, Admitted: 12, Aborted: 12, PeakInFlight: 12}, s.Counts())
	wg.Wait()

	require503(t, send(t, mounted.Client().Transport, mounted.URL, "", hello))
	require.Equal(t, 12, s.Counts().Arrivals, "a closed server writes nothing down")
	require.Equal(t, url, s.URL())
	_, err := s.Client().Do(newRequest(t.Context(), t, url, "", hello)) //nolint:bodyclose // fails
	require.Error(t, err)
	mounted.Client().CloseIdleConnections()
}

func require503(t *testing.T, r reply) {
	t.Helper()
	if r.status != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// awaitInFlight returns when n calls are in flight; the package's timeout bounds it.
func awaitInFlight(t *testing.T, s *providertest.Server, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.Counts().InFlight != n {
		<-tick.C
	}
}

func TestCloseWithoutAnyUse(t *testing.T) {
	s := newServer(t, providertest.Config{})
	s.Close()
	s.Close()
	_, err := s.Client().Do(newRequest(t.Context(), t, s.URL(), "", hello)) //nolint:bodyclose // fails
	require.Error(t, err)
	require.Zero(t, s.Counts())
}

func TestClientThatHangsUp(t *testing.T) {
	s := newServer(t, providertest.Config{Latency: forever})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Client().Do(newRequest(ctx, t, s.URL(), "", hello)) //nolint:bodyclose // fails
		done <- err
	}()
	awaitInFlight(t, s, 1)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	awaitInFlight(t, s, 0)
	require.Equal(t, providertest.Counts{Arrivals: 1, Admitted: 1, Aborted: 1, PeakInFlight: 1}, s.Counts())
}

func TestSetLimits(t *testing.T) {
	s := newServer(t, providertest.Config{})
	require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
	require.Error(t, s.SetLimits(providertest.Limits{Concurrency: -1}))
	require.NoError(t, s.SetLimits(providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Hour}}))
	require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
	require.Equal(t, http.StatusTooManyRequests, send(t, s.Transport(), base, "", hello).status)
	require.NoError(t, s.SetLimits(providertest.Limits{}))
	require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
}

// TestEverythingAtOnce is for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	s := newServer(t, providertest.Config{
		Headers: true, RetryAfter: providertest.RetryAfterMillis,
		Latency: providertest.Uniform{Max: 100 * time.Microsecond},
	})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				send(t, s.Transport(), base, "k", hello)
				send(t, s.Client().Transport, s.URL(), "k", hello)
			}
		})
		wg.Go(func() {
			for n := range 50 {
				_ = s.SetLimits(providertest.Limits{Concurrency: i + 1, Rate: providertest.Bucket{PerSecond: 1000 * float64(n+1), Burst: n + 1}})
				checkSums(t, s.Ledger())
			}
		})
	}
	wg.Wait()
	require.Zero(t, s.Counts().InFlight)
	checkSums(t, s.Ledger())
}

// checkSums holds a ledger's counts against its arrivals.
func checkSums(t *testing.T, l providertest.Ledger) {
	t.Helper()
	all := slices.Collect(l.All())
	served := 0
	for _, a := range all {
		if a.Served() {
			served++
		}
	}
	if len(all) != l.Arrivals || served != l.Served || l.ByKey()["k"] != served ||
		l.Arrivals != l.Admitted+l.Refused+l.Faulted+l.Invalid ||
		l.Admitted != l.Served+l.Aborted+l.InFlight || l.PeakInFlight < l.InFlight {
		t.Errorf("the ledger does not add up: %+v, %d arrivals, %d served", l.Counts, len(all), served)
	}
}
