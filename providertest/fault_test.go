package providertest_test

import (
	"net/http"
	"testing"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

func TestFaultAnswersBeforeTheLimits(t *testing.T) {
	for _, c := range []struct {
		name       string
		fault      providertest.Fault
		status     int
		kind, code string
	}{
		{"error", providertest.Fault{Status: 500}, 500, "server_error", ""},
		{"overloaded", providertest.Fault{Status: 503}, 503, "server_error", "server_is_overloaded"},
		{"529", providertest.Fault{Status: 529}, 529, "overloaded_error", ""},
		{"rate", providertest.Fault{Status: 429}, 429, "requests", "rate_limit_exceeded"},
		{"refused", providertest.Fault{Status: 400}, 400, "invalid_request_error", ""},
		{"money", *providertest.QuotaExhausted(), 429, "insufficient_quota", "insufficient_quota"},
		{"no status", providertest.Fault{}, 500, "server_error", ""},
		{"no final status", providertest.Fault{Status: 101}, 500, "server_error", ""},
		{"no status at all", providertest.Fault{Status: 1000}, 500, "server_error", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, providertest.Config{
				Limits: oneIn1500ms,
				Fault:  func(providertest.Request) *providertest.Fault { return &c.fault },
			})
			for range 3 {
				got := send(t, s.Client().Transport, s.URL(), "k", hello)
				require.Equal(t, c.status, got.status)
				require.Equal(t, "application/json", got.header.Get("Content-Type"))
				require.Equal(t, c.kind, got.apiError(t).Type)
				require.Equal(t, c.code, orEmpty(got.apiError(t).Code))
			}
			require.Equal(t, providertest.Counts{Arrivals: 3, Faulted: 3}, s.Counts())
			require.Equal(t, map[string]int{"k": 0}, s.Ledger().ByKey())
			for a := range s.Ledger().All() {
				require.True(t, a.Faulted)
				require.Equal(t, c.status, a.Status)
				require.Equal(t, "test-1", a.Model)
			}
		})
	}
}

func TestFaultIsSentAsItIs(t *testing.T) {
	s := newServer(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		switch r.Key {
		case "page":
			return &providertest.Fault{Status: 502, Body: "<html>", Header: http.Header{
				"Content-Type": {"text/html"}, "Retry-After": {"7"}, "X-Two": {"a", "b"},
			}}
		case "nothing":
			return &providertest.Fault{Status: 204, Body: "dropped"}
		case "blank":
			return &providertest.Fault{Status: 200}
		}
		return nil
	}})
	for _, rt := range []http.RoundTripper{s.Client().Transport, s.Transport()} {
		got := send(t, rt, s.URL(), "page", hello)
		require.Equal(t, 502, got.status)
		require.Equal(t, "<html>", got.body)
		require.Equal(t, "text/html", got.header.Get("Content-Type"))
		require.Equal(t, "7", got.header.Get("Retry-After"))
		require.Equal(t, []string{"a", "b"}, got.header["X-Two"])
		require.Equal(t, 204, send(t, rt, s.URL(), "nothing", hello).status)
		require.Empty(t, send(t, rt, s.URL(), "blank", hello).body)
		require.Equal(t, 200, send(t, rt, s.URL(), "passes", hello).status)
	}
	require.Equal(t, map[string]int{"page": 0, "nothing": 0, "blank": 0, "passes": 2}, s.Ledger().ByKey())
}

func TestPanicsAreAnswered(t *testing.T) {
	for _, c := range []struct {
		name   string
		config providertest.Config
		want   providertest.Counts
	}{
		{
			"Fault",
			providertest.Config{Fault: func(providertest.Request) *providertest.Fault { panic("broken") }},
			providertest.Counts{Arrivals: 2, Faulted: 2},
		},
		{
			"Reply",
			providertest.Config{Reply: func(providertest.Request) string { panic("broken") }},
			providertest.Counts{Arrivals: 2, Admitted: 2, Aborted: 2, PeakInFlight: 1},
		},
		{
			"Latency",
			providertest.Config{Latency: providertest.Panicking{}},
			providertest.Counts{Arrivals: 2, Admitted: 2, Aborted: 2, PeakInFlight: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Limits.Concurrency = 1 // so that a slot that is not given back shows
			s := newServer(t, c.config)
			for _, rt := range []http.RoundTripper{s.Client().Transport, s.Transport()} {
				got := send(t, rt, s.URL(), "", hello)
				require.Equal(t, 500, got.status)
				require.Equal(t, c.name+" panicked: broken", got.apiError(t).Message)
			}
			require.Equal(t, c.want, s.Counts())
		})
	}
}
