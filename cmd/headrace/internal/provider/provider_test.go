package provider_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/providertest"
)

const body = `{"model":"m","messages":[{"role":"user","content":"Hi."}]}`

// call asks h, and returns the status.
func call(h http.Handler, method, path, body string) (status int, text string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func ask(h http.Handler) int {
	status, _ := call(h, http.MethodPost, "/v1/chat/completions", body)
	return status
}

func ledger(t *testing.T, h http.Handler) (l provider.Ledger) {
	t.Helper()
	status, text := call(h, http.MethodGet, "/_ledger", "")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal([]byte(text), &l))
	return l
}

// The limit moves from the first request on; what was possible is what each limit admits in its time.
func TestTheLimitMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := provider.New(provider.Config{Config: providertest.Config{Seed: 3}, Hidden: provider.Range{Low: 10, High: 90}, Move: 4 * time.Second})
		require.NoError(t, err)
		defer s.Close()
		h := s.Handler()
		time.Sleep(time.Hour) // before the first request
		assert.Empty(t, ledger(t, h).Limits)
		served, refused := 0, 0
		for range 1000 { // 100 a second, for ten
			if ask(h) == http.StatusOK {
				served++
			} else {
				refused++
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Hour) // after the last request
		l := ledger(t, h)
		require.Len(t, l.Limits, 3)
		assert.Equal(t, []int{served, refused}, []int{l.Served, l.Refused})
		assert.InDelta(t, 9.99, l.Seconds, 1e-9)
		sum, before := 0.0, ""
		for i, p := range l.Limits {
			assert.InDelta(t, float64(4*i), p.From, 1e-9)
			assert.InDelta(t, min(9.99, float64(4*i+4)), p.To, 1e-9)
			assert.NotEqual(t, before, p.Limit)
			before = p.Limit
			rate, err := strconv.Atoi(strings.TrimSuffix(p.Limit, "/s"))
			require.NoError(t, err)
			want := float64(rate) * (p.To - p.From)
			if i == 0 {
				want += float64(rate)
			}
			assert.InDelta(t, want, p.Possible, 1e-6)
			served, refused, sum = served-p.Served, refused-p.Refused, sum+p.Possible
		}
		assert.Equal(t, []int{0, 0}, []int{served, refused}, "each request is in one phase")
		assert.InDelta(t, sum, l.Possible, 1e-6)
		assert.Greater(t, float64(l.Served), 0.95*l.Possible, "who hammers gets nearly all of it")
		assert.LessOrEqual(t, float64(l.Served), l.Possible)
	})
}

// Never more than possible, whatever the limits and the requests.
func TestNoMoreThanPossible(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, err := provider.New(provider.Config{
			Config: providertest.Config{Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 1. / 3600, Burst: rapid.IntRange(1, 50).Draw(r, "max")}}},
			Text:   "some/h",
		})
		require.NoError(r, err)
		defer s.Close()
		h := s.Handler()
		for range rapid.IntRange(0, 100).Draw(r, "n") {
			if rapid.IntRange(0, 19).Draw(r, "move") == 0 {
				status, _ := call(h, http.MethodPut, "/_limits", rapid.SampledFrom([]string{"3/h", "20/h", "60/h"}).Draw(r, "limit"))
				require.Equal(r, http.StatusNoContent, status)
			}
			ask(h)
		}
		l := s.Reveal(0)
		assert.LessOrEqual(r, float64(l.Served), l.Possible)
		assert.Equal(r, l.Arrivals, l.Served+l.Refused)
	})
}

func TestSettingLimits(t *testing.T) {
	s, err := provider.New(provider.Config{})
	require.NoError(t, err)
	defer s.Close()
	h := s.Handler()
	status, text := call(h, http.MethodPut, "/_limits", "often")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, text, "often")
	status, _ = call(h, http.MethodPut, "/_limits", "9/h\n")
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, http.StatusOK, ask(h))
	status, _ = call(h, http.MethodPut, "/_limits", "1 concurrent")
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, http.StatusOK, ask(h))
	l := s.Reveal(0)
	require.Len(t, l.Limits, 2, "the one that nobody has met is not told")
	assert.Equal(t, []string{"9/h", "1 concurrent"}, []string{l.Limits[0].Limit, l.Limits[1].Limit})
	assert.Zero(t, l.Possible, "as no rate limits all of it")
	assert.Equal(t, 2, l.Served)
}

func TestLimits(t *testing.T) {
	l, err := provider.Limits([]string{"50/s, 8 concurrent", "200k tokens/min", "bucket 40 input tokens/s burst 10"})
	require.NoError(t, err)
	assert.Equal(t, providertest.Limits{
		Concurrency: 8,
		Rate:        providertest.Bucket{PerSecond: 50, Burst: 50},
		Tokens:      providertest.Bucket{PerSecond: 200_000. / 60, Burst: 200_000},
		InputTokens: providertest.Bucket{PerSecond: 40, Burst: 10},
	}, l)
	for text, want := range map[string]string{
		"often": "often", "1/s, 2/min": "already", "1 points/s": "not supported", "fixed 5/day": "500/min", "2 concurrent;": "",
		"1000001/s": "at most 1,000,000", "7 tokens/400d": "366 days", "bucket 0.0000001/s burst 4": "366 days",
	} {
		_, err := provider.Limits([]string{text})
		require.ErrorContains(t, err, want, text)
	}
	_, err = provider.Limits([]string{"1 concurrent", "2 concurrent"})
	require.ErrorContains(t, err, "use only one")

	for _, text := range []string{"", "30", "0-5", "9-8", "5-6/min", "5-6 x", "-1-5", "1-1000000"} {
		_, err := provider.ParseRange(text)
		require.ErrorContains(t, err, "such as 30-60", text)
	}
	r, err := provider.ParseRange("30-60/s")
	require.NoError(t, err)
	assert.Equal(t, provider.Range{Low: 30, High: 60}, r)
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		faults provider.Faults
		status int
	}{
		"none":  {provider.Faults{}, 200},
		"error": {provider.Faults{Error: 1}, 500},
		"full":  {provider.Faults{Full: 1}, 503},
		"key":   {provider.Faults{Key: "k"}, 401},
	} {
		require.NoError(t, tc.faults.Validate())
		s, err := provider.New(provider.Config{Config: providertest.Config{Fault: tc.faults.Draw(1)}})
		require.NoError(t, err)
		assert.Equal(t, tc.status, ask(s.Handler()), name)
		s.Close()
	}
	draw := provider.Faults{Error: 0.2, Cut: 0.1, Hang: 0.3}.Draw(1)
	seen := map[providertest.Break]int{}
	for range 10_000 {
		f := draw(providertest.Request{})
		if f == nil {
			continue
		}
		seen[f.Break]++
	}
	assert.InDelta(t, 2000, seen[0], 150)
	assert.InDelta(t, 1000, seen[providertest.BreakHeader], 150)
	assert.InDelta(t, 3000, seen[providertest.BreakStall], 150)
	for _, f := range []provider.Faults{{Error: -1}, {Full: 2}, {Cut: 0.6, Hang: 0.6}} {
		require.Error(t, f.Validate())
	}
}
