package goodput

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// send makes one call, which is answered when it is.
func send(t *testing.T, s *providertest.Server, key string) {
	t.Helper()
	w := &wire{transport: s.Transport(), url: "http://provider", key: key}
	r, err := w.request(t.Context())
	require.NoError(t, err)
	answer, err := w.transport.RoundTrip(r)
	if err == nil {
		require.NoError(t, answer.Body.Close())
	}
}

// A ledger with an arrival each second: two at a time in a bucket of one, so
// that the second is refused. The span is open at its end.
func TestCount(t *testing.T) {
	for about, c := range map[string]struct {
		from, to time.Duration
		want     tally
	}{
		"everything":          {0, time.Minute, tally{admitted: 4, refused: 4, served: 4, busy: 400 * time.Millisecond, by: []int{2, 2}}},
		"nothing":             {time.Minute, time.Hour, tally{by: []int{0, 0}}},
		"its beginning":       {time.Second, 2 * time.Second, tally{admitted: 1, refused: 1, served: 1, busy: 100 * time.Millisecond, by: []int{0, 1}}},
		"but not its end":     {0, time.Second, tally{admitted: 1, refused: 1, served: 1, busy: 100 * time.Millisecond, by: []int{1, 0}}},
		"a little after that": {1, time.Second + 1, tally{admitted: 1, refused: 1, served: 1, busy: 100 * time.Millisecond, by: []int{0, 1}}},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, err := providertest.New(providertest.Config{
					Limits:  providertest.Limits{Rate: providertest.Bucket{PerSecond: 1, Burst: 1}},
					Latency: providertest.Fixed(100 * time.Millisecond),
				})
				require.NoError(t, err)
				defer server.Close()
				begin := time.Now()
				for second := range 4 {
					time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
					for range 2 {
						go send(t, server, []string{"0", "1"}[second%2])
					}
				}
				time.Sleep(time.Second)
				assert.Equal(t, c.want, count(server.Ledger(), begin.Add(c.from), begin.Add(c.to), 2))
			})
		})
	}
}

// A call that the end of the run cuts off was admitted; how long it would have
// taken is not known.
func TestACallThatWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := providertest.New(providertest.Config{Latency: providertest.Fixed(time.Minute)})
		require.NoError(t, err)
		begin := time.Now()
		w := &wire{transport: server.Transport(), url: "http://provider", key: "0"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := w.request(ctx)
		require.NoError(t, err)
		_, err = w.transport.RoundTrip(r) //nolint:bodyclose // there is none
		require.Error(t, err)
		server.Close()
		got := count(server.Ledger(), begin, begin.Add(time.Minute), 1)
		assert.Equal(t, tally{admitted: 1, by: []int{1}}, got)
		assert.Equal(t, 3*time.Second, got.latency(3*time.Second))
	})
}

func TestFigures(t *testing.T) {
	for about, c := range map[string]struct {
		tally    tally
		possible float64
		want     Figures
	}{
		"all of it":      {tally{admitted: 200, by: []int{200}}, 200, Figures{Goodput: 100, Jain: 1}},
		"half refused":   {tally{admitted: 50, refused: 50, by: []int{50}}, 200, Figures{Goodput: 25, Refused: 50, Jain: 1}},
		"one takes all":  {tally{admitted: 100, by: []int{100, 0, 0, 0}}, 100, Figures{Goodput: 100, Jain: 0.25}},
		"nothing at all": {tally{by: []int{0, 0}}, 0, Figures{Jain: 1}},
	} {
		t.Run(about, func(t *testing.T) { assert.Equal(t, c.want, c.tally.figures(c.possible)) })
	}
	assert.Equal(t, 100*time.Millisecond, tally{served: 2, busy: 200 * time.Millisecond}.latency(time.Hour))
}

func TestMeters(t *testing.T) {
	full := http.Header{
		"X-Ratelimit-Limit-Requests": {"10"}, "X-Ratelimit-Remaining-Requests": {"3"}, "X-Ratelimit-Reset-Requests": {"1m0.5s"},
	}
	m := meters(full)[0]
	assert.True(t, m.Known)
	assert.Equal(t, int64(10), m.Limit)
	assert.Equal(t, int64(3), m.Remaining)
	assert.Equal(t, time.Minute+500*time.Millisecond, m.Reset)
	for name := range full {
		without := full.Clone()
		without.Del(name)
		assert.False(t, meters(without)[0].Known, name)
	}
}
