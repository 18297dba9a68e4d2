package quota

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// What every Inspector and Waker has to do is in quotatest; here is what only this one does.

func TestMemoryStoreShowsNoIdleKeys(t *testing.T) {
	s, clock, take := memoryStore(t)
	take(0, user(1, throttle.Sliding(2, time.Second)))
	clock.Advance(time.Second)
	state, err := s.Look(t.Context(), "user 1")
	require.NoError(t, err)
	assert.Equal(t, State{}, state, "as if it had been swept")
	for key, err := range s.Keys(t.Context(), "") {
		assert.Fail(t, "it is idle", "%s %v", key, err)
	}
}

// Other calls have their turns during a listing of many keys. It leaves out what is idle by then.
func TestMemoryStoreListsKeysInParts(t *testing.T) {
	s, clock, take := memoryStore(t)
	for i := range 1000 {
		take(0, user(i, throttle.Sliding(2, time.Second)))
	}
	listed := 0
	for _, err := range s.Keys(t.Context(), "user ") {
		require.NoError(t, err)
		if listed++; listed == 1 {
			clock.Advance(time.Second)
			take(0, user(-1, throttle.Sliding(2, time.Second)))
		}
	}
	assert.Equal(t, keysAtOnce, listed)
}

// A listing that is read slowly does not keep the memory of keys that are forgotten meanwhile.
func TestMemoryStoreListingsKeepNoForgottenKeys(t *testing.T) {
	s, clock, take := memoryStore(t)
	for i := range 1000 {
		take(0, user(i, throttle.Sliding(2, time.Second)))
	}
	next, stop := iter.Pull2(s.Keys(t.Context(), ""))
	defer stop()
	_, err, ok := next()
	require.NoError(t, err)
	require.True(t, ok)
	last := weak.Make(s.keys["user 999"])
	clock.Advance(time.Second)
	for range 1000 {
		take(0, user(-1, throttle.Sliding(2, time.Second)))
	}
	require.NotContains(t, s.keys, "user 999")
	runtime.GC()
	assert.Nil(t, last.Value())
}

func TestMemoryStorePeeksLeaveTheLimitsThatAreShown(t *testing.T) {
	s, _, take := memoryStore(t)
	d := user(1, throttle.Sliding(2, time.Second))
	take(0, d)
	want := d.Limits
	d.Limits.Concurrency = 7
	_, err := s.Take(t.Context(), Request{Demands: []Demand{d}, Peek: true, Uses: true})
	require.NoError(t, err)
	state, err := s.Look(t.Context(), d.Key)
	require.NoError(t, err)
	assert.Equal(t, want, state.Limits)
}

// A lease on several keys is lost as a whole.
func TestMemoryStoreForgetsLeases(t *testing.T) {
	s, _, take := memoryStore(t)
	slot := func(key string) Demand { return Demand{Key: key, Limits: throttle.Limits{Concurrency: 1}} }
	held := take(time.Hour, slot("a"), slot("b")).Ticket
	require.NoError(t, s.Forget(t.Context(), "a"))
	assert.ErrorIs(t, s.End(t.Context(), held, nil), ErrLeaseLost)
	assert.Zero(t, take(time.Hour, slot("a"), slot("b")).Wait)
	assert.Len(t, s.leases, 1)
}

// A lease that lapsed frees its slots of all its keys, whichever is looked at first.
func TestMemoryStoreForgetsLapsedLeases(t *testing.T) {
	slot := func(key string) Demand { return Demand{Key: key, Limits: throttle.Limits{Concurrency: 1}} }
	for about, calls := range map[string]int{"no other call holds a slot": 0, "another call holds it": 1} {
		t.Run(about, func(t *testing.T) {
			s, clock, take := memoryStore(t)
			for i := range 10 { // so that no call of Take sweeps the keys below
				take(0, user(i, throttle.Sliding(1, time.Hour)))
			}
			take(time.Second, slot("a"), slot("b"))
			clock.Advance(time.Second)
			_, err := s.Look(t.Context(), "a")
			require.NoError(t, err)
			for range calls {
				require.Zero(t, take(time.Hour, slot("a")).Wait)
			}
			require.NoError(t, s.Forget(t.Context(), "b"))
			state, err := s.Look(t.Context(), "a")
			require.NoError(t, err)
			assert.Equal(t, calls, state.InFlight)
		})
	}
}

// A ticket from before Forget has nothing to get back.
func TestMemoryStoreForgetsTickets(t *testing.T) {
	s, _, take := memoryStore(t)
	d := user(1, throttle.Sliding(1, time.Second))
	before := take(0, d).Ticket
	require.NoError(t, s.Forget(t.Context(), d.Key))
	require.Zero(t, take(0, d).Wait)
	require.NoError(t, s.Cancel(t.Context(), before))
	assert.Positive(t, take(0, d).Wait)
}

func TestMemoryStoreForgetsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory(nil)
		ctx, cancel := context.WithCancel(t.Context())
		changed, err := s.Changed(ctx, "a", "b", "a")
		require.NoError(t, err)
		cancel()
		synctest.Wait()
		assert.Empty(t, s.wakes)
		d := Demand{Key: "a", Limits: throttle.Limits{Concurrency: 1}}
		g, err := s.Take(t.Context(), Request{Demands: []Demand{d}, Lease: time.Minute})
		require.NoError(t, err)
		require.NoError(t, s.End(t.Context(), g.Ticket, nil))
		assert.Empty(t, changed)
	})
}
