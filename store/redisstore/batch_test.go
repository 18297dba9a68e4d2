package redisstore_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/redisstore/internal/redistest"
	"github.com/headrace/headrace/throttle"
)

const hold = 100 * time.Millisecond

// batching is a store on a fake that answers at once.
func batching(t *testing.T, left int) (*redisstore.Store, *fake) {
	t.Helper()
	f := newFake(left)
	close(f.open)
	s, err := redisstore.New(f, redisstore.WithBatches(20, hold))
	require.NoError(t, err)
	return s, f
}

func TestBatchesGrowWithUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		for range 100 {
			taken(t, s, request("a"))
		}
		assert.Equal(t, []int{2, 3, 5, 9, 17, 21, 21, 21, 21}, f.takes(), "a caller, and as many as were used last time and as many again")
		assert.Zero(t, f.ends())
		time.Sleep(hold)
		synctest.Wait()
		assert.Equal(t, 1, f.ends(), "the 20 that were left, at once")
		for range 12 {
			taken(t, s, request("a"))
		}
		assert.Equal(t, []int{11, 21}, f.takes()[9:], "fewer than before, as some were not used")
		require.NoError(t, s.Close())
	})
}

func TestBatchesEndWithACooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		taken(t, s, request("a"))
		taken(t, s, request("b"))
		require.NoError(t, s.Cooldown(t.Context(), "a", time.Second))
		synctest.Wait()
		assert.Equal(t, 2, f.ends(), "what was taken in advance, and the cooldown")
		taken(t, s, request("b"))
		assert.Equal(t, []int{2, 2}, f.takes(), "that of another key is still there")
		taken(t, s, request("a"))
		assert.Equal(t, []int{2, 2, 2}, f.takes())
		require.NoError(t, s.Close())
	})
}

// Each batch is given back by itself: its demands are not those of another.
func TestBatchesOfOneInstantEndApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		taken(t, s, request("a"))
		dear := request("a")
		dear.Demands[0].Cost.Requests = 5
		taken(t, s, dear)
		require.NoError(t, s.Cooldown(t.Context(), "a", time.Second))
		synctest.Wait()
		assert.Equal(t, 3, f.ends(), "two batches and the cooldown")
		require.NoError(t, s.Close())
	})
}

func TestABatchUnderWayEndsWithACooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		open := make(chan struct{})
		f.reopen(open)
		var wg sync.WaitGroup
		wg.Go(func() { taken(t, s, request("a")) })
		synctest.Wait()
		wg.Go(func() { assert.NoError(t, s.Cooldown(t.Context(), "a", time.Second)) })
		synctest.Wait()
		close(open)
		wg.Wait()
		synctest.Wait()
		assert.Equal(t, 2, f.ends(), "the batch and the cooldown")
		taken(t, s, request("a"))
		assert.Equal(t, []int{2, 2}, f.takes(), "Redis is asked again")
		require.NoError(t, s.Close())
	})
}

func TestACooldownIsNotHeldByABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		taken(t, s, request("a"))
		open := make(chan struct{})
		f.reopen(open)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		begun := time.Now()
		require.ErrorIs(t, s.Cooldown(ctx, "a", time.Second), context.DeadlineExceeded)
		assert.Equal(t, 10*time.Millisecond, time.Since(begun))
		close(open)
		require.NoError(t, s.Close())
	})
}

func TestSlotsAreNotTakenInAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1000)
		for range 3 {
			taken(t, s, leased("a", 9))
		}
		assert.Equal(t, []int{1, 1, 1}, f.takes())
		require.NoError(t, s.Close())
	})
}

func TestCallersComeBeforeABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := batching(t, 1)
		taken(t, s, request("a"))
		g, err := s.Take(t.Context(), request("a"))
		require.NoError(t, err)
		assert.Positive(t, g.Wait)
		assert.Equal(t, []int{2, 2}, f.takes())
		require.NoError(t, s.Close())
	})
	_, err := redisstore.New(newFake(0), redisstore.WithBatches(257, hold))
	require.ErrorContains(t, err, "redisstore: WithBatches: 257")
	_, err = redisstore.New(newFake(0), redisstore.WithBatches(1, 0))
	require.ErrorContains(t, err, "redisstore: WithBatches: a hold of 0s")
}

// By the time that they are charged, calls keep the limit; by the time that they are admitted, they exceed it by what
// the stores have in advance at most.
func TestWhatBatchesExceed(t *testing.T) {
	const most, calls, stores = 50, 20, 3
	server, clock := redistest.Start(t), clockwork.NewFakeClockAt(time.Now())
	var all []*redisstore.Store
	for range stores {
		all = append(all, open(t, server, redisstore.WithClock(clock), redisstore.WithBatches(calls, time.Hour)))
	}
	r := request("a")
	r.Demands[0].Limits.Windows = []throttle.Window{throttle.Sliding(most, time.Minute)}
	random := rand.New(rand.NewPCG(1, 2))
	var charged, admitted []oracle.Entry
	for range 3000 {
		s := all[random.IntN(1+random.IntN(stores))] // some ask less often
		g, err := s.Take(context.Background(), r)
		require.NoError(t, err)
		if g.Wait > 0 {
			clock.Advance(time.Duration(random.Int64N(int64(g.Wait) + 1)))
			continue
		}
		one := oracle.Weights{throttle.Requests: 1}
		charged = append(charged, oracle.Entry{At: time.Duration(g.Ticket.At), Weights: one})
		admitted = append(admitted, oracle.Entry{At: time.Duration(clock.Now().UnixNano()), Weights: one})
		clock.Advance(time.Duration(random.Int64N(int64(time.Second))))
	}
	slices.SortStableFunc(charged, func(a, b oracle.Entry) int { return cmp.Compare(a.At, b.At) })
	require.NoError(t, oracle.Judge(charged, oracle.Sliding(0, most, time.Minute)).Err())
	require.NoError(t, oracle.Judge(admitted, oracle.Sliding(0, most+stores*calls, time.Minute)).Err())
	require.Error(t, oracle.Judge(admitted, oracle.Sliding(0, most, time.Minute)).Err(), "else this proves nothing")
}
