package providertest_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

func TestAttempts(t *testing.T) {
	s := newServer(t, providertest.Config{
		Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 2, Per: time.Hour}},
		Fault: func(r providertest.Request) *providertest.Fault {
			if r.Key == "limited" {
				return &providertest.Fault{Status: http.StatusTooManyRequests}
			}
			return nil
		},
	})
	for _, key := range []string{"a", "b", "a", "", "limited"} {
		send(t, s.Transport(), base, key, hello)
	}
	send(t, s.Transport(), base, "b", "{")
	l := s.Ledger()
	require.Equal(t, map[string]int{"a": 2, "b": 2, "limited": 1}, l.Attempts())
	require.Equal(t, 3, l.TooMany(), "of the window and of the fault")
	var attempts []int
	for a := range l.All() {
		attempts = append(attempts, a.Attempt)
		require.Equal(t, "/v1/chat/completions", a.Path)
	}
	require.Equal(t, []int{1, 1, 2, 0, 1, 2}, attempts)
}

func TestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{
			Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 2, Per: time.Minute}},
			Fault: func(r providertest.Request) *providertest.Fault {
				switch r.Key {
				case "fault":
					return &providertest.Fault{Status: 500}
				case "cut":
					return &providertest.Fault{Admit: true, Break: providertest.BreakHeader}
				}
				return nil
			},
		})
		start := time.Now()
		for range 2 { // in two windows
			for _, key := range []string{"a", "cut", "b", "fault"} {
				_, _, _ = try(t.Context(), t, s.Transport(), base, hello)
				res, err := s.Transport().RoundTrip(newRequest(t.Context(), t, base, key, hello))
				if err == nil {
					require.NoError(t, res.Body.Close())
				}
			}
			send(t, s.Transport(), base, "", "{")
			elapse(time.Minute)
		}
		all := s.Ledger()
		first, second := all.Between(start, start.Add(time.Minute)), all.Between(start.Add(time.Minute), start.Add(time.Hour))
		require.Equal(t, first.Counts, second.Counts)
		require.Equal(t, all.Arrivals, first.Arrivals+second.Arrivals)
		require.Len(t, slices.Collect(second.All()), second.Arrivals)
		require.Equal(t, providertest.Counts{Arrivals: 9, Admitted: 2, Refused: 5, Faulted: 1, Invalid: 1, Served: 2, PeakInFlight: 1}, first.Counts)
		require.Equal(t, all.Counts, all.Between(start, start.Add(time.Hour)).Counts, "the whole is the whole")
		require.Zero(t, all.Between(start.Add(time.Hour), start.Add(2*time.Hour)).Counts)
	})
}

func TestKeyOf(t *testing.T) {
	s := newServer(t, providertest.Config{KeyOf: func(r providertest.Request) string {
		if r.Key == "panic" {
			panic("broken")
		}
		return r.Key + "/" + r.Header.Get("X-Item")
	}})
	req := newRequest(t.Context(), t, base, "k", hello)
	req.Header.Set("X-Item", "7")
	require.Equal(t, http.StatusOK, do(t, s.Transport(), req).status)
	got := send(t, s.Transport(), base, "panic", hello)
	require.Equal(t, http.StatusInternalServerError, got.status)
	require.Equal(t, "KeyOf panicked: broken", got.apiError(t).Message)
	require.Equal(t, providertest.Counts{Arrivals: 2, Admitted: 1, Served: 1, Invalid: 1, PeakInFlight: 1}, s.Counts())
	require.Equal(t, map[string]int{"k/7": 1}, s.Ledger().ByKey())
}

func TestBetweenCountsWhatIsInFlight(t *testing.T) {
	s := newServer(t, providertest.Config{Latency: forever})
	go func() { _, _, _ = try(t.Context(), t, s.Transport(), base, hello) }()
	awaitInFlight(t, s, 1)
	l := s.Ledger()
	require.Equal(t, l.Counts, l.Between(time.Time{}, time.Now().Add(time.Hour)).Counts)
	s.Close()
	l = s.Ledger()
	require.Equal(t, l.Counts, l.Between(time.Time{}, time.Now().Add(time.Hour)).Counts)
	require.Equal(t, 1, l.Aborted)
}
