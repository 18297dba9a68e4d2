package throttle

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// queues are two limiters of which one always takes its lock, with the same calls waiting in both.
type queues struct {
	clock   *clockwork.FakeClock
	of      [2]*Limiter // the first one has the fast path
	waiting [][2]*waiter
	permits [][2]Permit
}

func newQueues(t *testing.T, rt require.TestingT, lim Limits) *queues {
	t.Helper()
	q := &queues{clock: clockwork.NewFakeClock()}
	fast := stuck{q.clock}
	undo := SetFast(func(c clockwork.Clock, _ bool) bool { return c == clockwork.Clock(fast) })
	t.Cleanup(undo)
	for i, c := range []clockwork.Clock{fast, slowly{fast}} {
		var err error
		q.of[i], err = New(lim, WithClock(c))
		require.NoError(rt, err)
	}
	return q
}

// slowly is a clock on which no limiter has the fast path.
type slowly struct{ stuck }

func (q *queues) both(f func(l *Limiter)) {
	f(q.of[0])
	f(q.of[1])
}

// arrive has a call wait in both, unless it can go at once.
func (q *queues) arrive(t require.TestingT, c Cost, place int64) {
	var w [2]*waiter
	var p [2]Permit
	for i, l := range q.of {
		var n load
		n.set(&c)
		l.lock()
		var err error
		w[i], p[i], err = l.enterLocked(context.Background(), &n, place, true)
		require.NoError(t, err)
	}
	require.Equal(t, w[1] == nil, w[0] == nil)
	if w[0] == nil {
		q.permits = append(q.permits, p)
	} else {
		q.waiting = append(q.waiting, w)
	}
}

// served compares which calls were served, and with what.
func (q *queues) served(t require.TestingT) {
	left := q.waiting[:0]
	for _, w := range q.waiting {
		require.Equal(t, len(w[1].ready), len(w[0].ready))
		if len(w[0].ready) == 0 {
			left = append(left, w)
			continue
		}
		require.Equal(t, w[1].err == nil, w[0].err == nil)
		require.Equal(t, w[1].waited, w[0].waited)
		if w[0].err == nil {
			q.permits = append(q.permits, [2]Permit{w[0].permit, w[1].permit})
		}
		<-w[0].ready
		<-w[1].ready
	}
	q.waiting = left
}

// Calls that wait are served as without the fast path, whatever opens and closes it: calls that come and leave, permits
// that end, limits that change, pauses and closings. It is never open while a call waits.
func TestTheFastPathIsNotSeenByWaiters(t *testing.T) {
	limits := rapid.Custom(func(t *rapid.T) Limits {
		most := rapid.SampledFrom([]int64{2, 3, 8, 20}).Draw(t, "max")
		lim := Limits{Windows: []Window{Sliding(most, time.Second)}}
		if rapid.IntRange(0, 3).Draw(t, "bucket") == 0 {
			lim.Windows[0] = Bucket(float64(most), most)
		}
		lim.Concurrency = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "slots")
		return lim
	})
	used, waited := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		q := newQueues(t, rt, limits.Draw(rt, "limits"))
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			cost := rapid.SampledFrom([]Cost{{}, {}, {}, {Requests: 2}}).Draw(rt, "cost")
			switch rapid.IntRange(0, 20).Draw(rt, "step") {
			case 0, 1:
				q.arrive(rt, cost, rapid.SampledFrom([]int64{lastPlace, lastPlace, 1, 2}).Draw(rt, "place"))
			case 2, 3:
				if n := len(q.waiting); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(rt, "leaves")
					for j, l := range q.of {
						require.True(rt, l.leave(q.waiting[i][j], errors.New("left")))
					}
					q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
				}
			case 4, 5, 6:
				if n := len(q.permits); n > 0 {
					end := rapid.SampledFrom([]func(Permit){
						Permit.Cancel, Permit.Release, func(p Permit) { p.Settle(Cost{Requests: 3}) },
					}).Draw(rt, "end")
					i := rapid.IntRange(0, n-1).Draw(rt, "permit")
					end(q.permits[i][0])
					end(q.permits[i][1])
					q.permits = append(q.permits[:i], q.permits[i+1:]...)
				}
			case 7:
				lim := limits.Draw(rt, "new limits")
				q.both(func(l *Limiter) { require.NoError(rt, l.SetLimits(lim)) })
			case 8:
				n := rapid.IntRange(0, 3).Draw(rt, "new slots")
				q.both(func(l *Limiter) { require.NoError(rt, l.SetConcurrency(n)) })
			case 9:
				q.both(func(l *Limiter) { l.PauseUntil(q.clock.Now().Add(time.Second / 3)) })
			case 10:
				q.both((*Limiter).Resume)
			case 11, 12, 13, 14:
				d := rapid.SampledFrom([]time.Duration{1, 50 * time.Millisecond, 333333333, time.Second, 5 * time.Second}).Draw(rt, "advance")
				q.clock.Advance(d)
				if rapid.Bool().Draw(rt, "timer") { // or it is late
					q.both(func(l *Limiter) { l.Update(nil) })
				}
			default:
				for range rapid.SampledFrom([]int{1, 2, 5}).Draw(rt, "calls") {
					open := q.of[0].Open()
					require.False(rt, open && len(q.waiting) > 0, "the fast path is open while calls wait")
					if open {
						used++
					}
					require.Equal(rt, q.of[1].Allow(cost), q.of[0].Allow(cost))
					q.served(rt)
				}
			}
			waited += len(q.waiting)
			q.served(rt)
		}
		q.both(func(l *Limiter) { l.PauseUntil(q.clock.Now().Add(time.Hour)) }) // it seals
		require.Equal(rt, q.of[1].Windows(), q.of[0].Windows())
		require.Equal(rt, q.of[1].Stats(), q.of[0].Stats())
	})
	assert.Greater(t, min(used, waited), 20, "calls that found the fast path open, and that waited")
}

// Of calls that wait for a window with an open ring behind them none is overtaken: free units are theirs.
func TestACallBehindAnOpenRingIsServedNext(t *testing.T) {
	l, _, c := openRing(t, 3)
	require.True(t, l.Allow(Cost{}))
	require.True(t, l.Open())
	w := joinWith(t, l, Cost{Requests: 3})
	for range 2 {
		require.False(t, l.Allow(Cost{}))
		require.False(t, l.Open())
	}
	c.Advance(time.Second)
	assert.False(t, l.Allow(Cost{}), "the call that waits takes all")
	assert.Len(t, w.ready, 1)
	assert.EqualValues(t, 3, l.Windows()[0].Spent)
}
