package redisstore_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// deaf is a client that loses the answers of Redis while it is set: it reports that the time to read one has passed.
type deaf struct {
	redisstore.Client

	set atomic.Bool
}

func (d *deaf) Do(ctx context.Context, words ...string) (any, error) {
	v, err := d.Client.Do(ctx, words...)
	if d.set.Load() {
		return nil, os.ErrDeadlineExceeded
	}
	return v, err
}

// A Redis that was stopped may carry out the takes of callers that have gone, when it continues. Their slots become free
// long before their leases lapse.
func TestSlotsOfTakesWithoutAnAnswerAreFreed(t *testing.T) {
	server := redistest.Start(t)
	other, client := open(t, server, redisstore.WithTimeout(time.Minute)), &deaf{Client: redisstore.GoRedis(plain(t, server))}
	s, err := redisstore.New(client, redisstore.WithTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	r := leased("a", 5, throttle.Sliding(10, time.Hour))
	r.Lease = time.Hour
	kept := taken(t, other, r)
	client.set.Store(true)
	_, err = s.TakeTogether(t.Context(), r, 3)
	require.Error(t, err)
	client.set.Store(false)
	require.Eventually(t, func() bool {
		state, err := other.Look(t.Context(), "a")
		return err == nil && state.InFlight == 1
	}, time.Minute, time.Millisecond)
	state, err := other.Look(t.Context(), "a")
	require.NoError(t, err)
	assert.EqualValues(t, 4, state.Uses[0].Spent, "Redis has carried them out, and they count as used")
	require.NoError(t, other.End(t.Context(), kept, nil), "it still has its slot")
}

// Nothing is left to do for takes that were never carried out, and a Close does not wait for it.
func TestTakesThatWereNotCarriedOut(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server, redisstore.WithTimeout(50*time.Millisecond))
	answers := func() {
		t.Helper()
		require.Eventually(t, func() bool { // on a busy machine, it may take longer than the timeout
			if redisstore.Lost(s) != 0 {
				return false
			}
			ticket, err := s.Take(t.Context(), leased("a", 5))
			return err == nil && ticket.Wait == 0
		}, time.Minute, time.Millisecond)
	}
	answers()
	server.Pause()
	_, err := s.Take(t.Context(), leased("a", 5))
	require.Error(t, err, "it is not answered")
	require.Eventually(t, func() bool { return redisstore.Lost(s) == 1 }, time.Minute, time.Millisecond)
	server.Kill()
	server.Restart(t)
	answers()

	server.Pause()
	long := leased("b", 5)
	long.Lease = time.Hour
	_, err = s.Take(t.Context(), long)
	require.Error(t, err)
	require.Eventually(t, func() bool { return redisstore.Lost(s) == 1 }, time.Minute, time.Millisecond)
	var closed atomic.Bool
	go func() {
		assert.NoError(t, s.Close())
		closed.Store(true)
	}()
	require.Eventually(t, closed.Load, time.Minute, time.Millisecond)
	server.Resume()
}

// failing is a client for which one script fails, after it has been carried out or instead.
type failing struct {
	deaf

	left    atomic.Int64 // how many scripts it is until then
	carries bool
}

func (f *failing) Do(ctx context.Context, words ...string) (any, error) {
	if words[0] != "EVALSHA" || f.set.Load() || f.left.Add(-1) != 0 {
		return f.deaf.Do(ctx, words...)
	}
	if f.carries {
		_, _ = f.deaf.Do(ctx, words...)
	}
	return nil, errors.New("connection reset")
}

// Slots that could not be freed at once, because Redis failed again, are freed too.
func TestSlotsAreFreedAfterAFailureHalfway(t *testing.T) {
	for name, test := range map[string]struct {
		script  int64
		carries bool
	}{
		"the first is lost":       {1, false},
		"the first reply is lost": {1, true},
		"the second is lost":      {2, false},
		"the last is lost":        {3, false},
		"the last reply is lost":  {3, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			other := open(t, server, redisstore.WithTimeout(time.Minute))
			client := &failing{deaf: deaf{Client: redisstore.GoRedis(plain(t, server))}, carries: test.carries}
			s, err := redisstore.New(client, redisstore.WithTimeout(time.Minute))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			r := leased("a", 5)
			r.Lease = time.Hour
			kept := taken(t, other, r)
			client.set.Store(true)
			_, err = s.TakeTogether(t.Context(), r, 3)
			require.Error(t, err)
			require.Eventually(t, func() bool { return redisstore.Lost(s) == 1 }, time.Minute, time.Millisecond)
			client.left.Store(test.script)
			client.set.Store(false)
			require.Eventually(t, func() bool { return redisstore.Lost(s) == 0 }, time.Minute, time.Millisecond)
			assert.LessOrEqual(t, client.left.Load(), int64(0), "it has failed")
			state, err := other.Look(t.Context(), "a")
			require.NoError(t, err)
			assert.EqualValues(t, 1, state.InFlight)
			require.NoError(t, other.End(t.Context(), kept, nil), "it still has its slot")
		})
	}
}

func TestTakesWithoutAnAnswerAreBounded(t *testing.T) {
	most, remembered := redisstore.LoseWhileLooking()
	assert.Equal(t, most, remembered)
}
