package throttle

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openRing returns a limiter of limit calls in a second whose ring is open and holds one unit.
func openRing(t *testing.T, limit int64) (*Limiter, *ring, *clockwork.FakeClock) {
	t.Helper()
	t.Cleanup(SetFast(func(clockwork.Clock, bool) bool { return true }))
	c := clockwork.NewFakeClock()
	l, err := New(Limits{Windows: []Window{Sliding(limit, time.Second)}}, WithClock(c))
	require.NoError(t, err)
	require.True(t, l.Allow(Cost{}))
	require.True(t, l.Open())
	return l, openedRing(l), c
}

func openedRing(l *Limiter) *ring { return &l.fast.Load().ring }

// next returns what a call reads before it takes the next unit.
func (r *ring) next() (i, word, last uint64) {
	for i = r.taken.Load(); number(r.word(i).Load()) == i; i++ {
		last = r.word(i).Load()
	}
	return i, r.word(i).Load(), last
}

// A call that has read the front and is overtaken finds the word it depends on replaced by a later unit. That one
// counts, but does not say that the window is full.
func TestAnOvertakenCallIsNotRefused(t *testing.T) {
	l, r, c := openRing(t, int64(fewWords))
	c.Advance(time.Second)
	i, word, last := r.next()
	now := l.clock.Elapsed() - r.base
	require.True(t, l.Allow(Cost{}))
	assert.Equal(t, allowed, r.take(i, word, last, now), "seven units are left")
}

// A call that has found room before the ring was sealed takes no unit when it has been opened again, by then full, even
// if the place of the unit holds the same time as before.
func TestACallTakesNoUnitAcrossASeal(t *testing.T) {
	const limit = 3
	l, r, c := openRing(t, limit)
	c.Advance(time.Second)
	i, word, _ := r.next()
	at := l.clock.Elapsed() - r.base
	for range limit - 1 {
		p, err := l.TryAcquire(Cost{}) // seals the ring
		require.NoError(t, err)
		p.Release()
	}
	require.True(t, l.Allow(Cost{}))
	require.True(t, l.Open())
	require.Same(t, r, openedRing(l))
	assert.False(t, r.replace(i, word, at))
	assert.False(t, l.Allow(Cost{}))
	assert.EqualValues(t, limit, l.Windows()[0].Spent)
}

// A call that was about to replace a word when it was sealed does not, and none gets past it.
func TestNoUnitIsTakenPastASeal(t *testing.T) {
	l, r, c := openRing(t, 3)
	c.Advance(time.Second)
	i, word, last := r.next()
	now := l.clock.Elapsed() - r.base
	require.Equal(t, i, r.seal())
	assert.Equal(t, undecided, r.take(i, word, last, now))
	assert.Equal(t, undecided, r.allow(l.clock.Elapsed()))
}

// A call that has read its clock before another one took a unit takes the next no earlier.
func TestUnitsAreTakenInOrder(t *testing.T) {
	l, r, c := openRing(t, 3)
	now := l.clock.Elapsed() - r.base
	c.Advance(time.Millisecond)
	require.True(t, l.Allow(Cost{}))
	i, word, last := r.next()
	require.Equal(t, allowed, r.take(i, word, last, now))
	assert.Equal(t, when(last), when(r.word(i).Load()))
}

// A call that has read its clock before the ring was opened takes a unit no earlier than that: a slow call has since been
// refused as of the later time.
func TestNoUnitIsTakenBeforeTheRingWasOpened(t *testing.T) {
	l, r, c := openRing(t, 2)
	now := l.clock.Elapsed() - r.base
	c.Advance(time.Millisecond)
	require.False(t, l.Allow(Cost{Requests: 2})) // seals the ring
	require.True(t, l.Open())
	require.Same(t, r, openedRing(l))
	i, word, last := r.next()
	require.Equal(t, allowed, r.take(i, word, last, now))
	assert.Equal(t, now+time.Millisecond, when(r.word(i).Load()))
}

// A ring that is sealed before anything was taken from it does not grow.
func TestAnUnusedRingStaysSmall(t *testing.T) {
	l, r, c := openRing(t, 1000)
	c.Advance(time.Second)
	for range 10 {
		require.False(t, l.Allow(Cost{Requests: 1001})) // seals the ring
		require.True(t, l.Open())
	}
	assert.Same(t, r, openedRing(l))
}

// A window that rounded stamps up leaves one that is later than now. No unit is taken as of it while older ones count.
func TestNoUnitIsTakenAsOfALaterStamp(t *testing.T) {
	t.Cleanup(SetFast(func(clockwork.Clock, bool) bool { return true }))
	c := clockwork.NewFakeClock()
	l, err := New(Limits{Windows: []Window{Sliding(2000, time.Second)}}, WithClock(c))
	require.NoError(t, err)
	require.True(t, l.Allow(Cost{}))
	c.Advance(1)
	require.True(t, l.Allow(Cost{}), "it counts as taken at the end of a sub-slot")
	require.NoError(t, l.SetLimits(Limits{Windows: []Window{Sliding(4, 100*time.Microsecond)}}))
	require.True(t, l.Allow(Cost{}))
	require.True(t, l.Allow(Cost{}))
	assert.False(t, l.Allow(Cost{}))
	c.Advance(2 * time.Millisecond)
	require.True(t, l.Allow(Cost{}))
	assert.True(t, l.Open(), "it has come")
}
