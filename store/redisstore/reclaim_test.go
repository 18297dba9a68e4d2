package redisstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

// deaf is a client that loses the answers of Redis while it is set.
type deaf struct {
	redisstore.Client

	set atomic.Bool
}

func (d *deaf) Do(ctx context.Context, words ...string) (any, error) {
	v, err := d.Client.Do(ctx, words...)
	if d.set.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return v, err
}

// A Redis that was stopped may carry out the takes of callers that have gone, when it continues. Their slots become free
// long before their leases lapse.
func TestSlotsOfTakesWithoutAnAnswerAreFreed(t *testing.T) {
	server := redistest.Start(t)
	other, client := open(t, server), &deaf{Client: redisstore.GoRedis(plain(t, server))}
	s, err := redisstore.New(client, redisstore.WithTimeout(50*time.Millisecond))
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
	}, 20*time.Second, time.Millisecond)
	state, err := other.Look(t.Context(), "a")
	require.NoError(t, err)
	assert.EqualValues(t, 4, state.Uses[0].Spent, "Redis has carried them out, and they count as used")
	require.NoError(t, other.End(t.Context(), kept, nil), "it still has its slot")
}

// Nothing is left to do for takes that were never carried out, and a Close does not wait for it.
func TestTakesThatWereNotCarriedOut(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server, redisstore.WithTimeout(50*time.Millisecond))
	taken(t, s, leased("a", 5))
	server.Pause()
	_, err := s.Take(t.Context(), leased("a", 5))
	require.Error(t, err, "it is not answered")
	require.Eventually(t, func() bool { return redisstore.Lost(s) == 1 }, 20*time.Second, time.Millisecond)
	server.Kill()
	server.Restart(t)
	assert.Eventually(t, func() bool { return redisstore.Lost(s) == 0 }, 20*time.Second, time.Millisecond)
	assert.Eventually(t, func() bool {
		ticket, err := s.Take(t.Context(), leased("a", 1))
		return err == nil && ticket.Wait == 0
	}, 20*time.Second, time.Millisecond)

	server.Pause()
	_, err = s.Take(t.Context(), leased("b", 5))
	require.Error(t, err)
	require.Eventually(t, func() bool { return redisstore.Lost(s) == 1 }, 20*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	server.Resume()
}
