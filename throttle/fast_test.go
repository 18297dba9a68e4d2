package throttle_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

// twins are two limiters of which one always takes its lock.
type twins struct {
	fast, slow           *throttle.Limiter
	clock, other         *clockwork.FakeClock
	permits, otherPermit []throttle.Permit
}

func newTwins(t *testing.T, lim throttle.Limits, opts ...throttle.Option) *twins {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &twins{clock: clockwork.NewFakeClockAt(at), other: clockwork.NewFakeClockAt(at)}
	t.Cleanup(throttle.SetFast(func(c clockwork.Clock, _ bool) bool { return c == clockwork.Clock(w.clock) }))
	var err error
	w.fast, err = throttle.New(lim, append(opts, throttle.WithClock(w.clock))...)
	require.NoError(t, err)
	w.slow, err = throttle.New(lim, append(opts, throttle.WithClock(w.other))...)
	require.NoError(t, err)
	return w
}

func (w *twins) advance(d time.Duration) {
	w.clock.Advance(d)
	w.other.Advance(d)
}

func (w *twins) same(t require.TestingT) {
	require.Equal(t, w.slow.Windows(), w.fast.Windows())
	require.Equal(t, w.slow.Stats(), w.fast.Stats())
	total := func(l *throttle.Limiter) (s throttle.Sent) {
		l.Look(func(time.Time) { s = l.TotalLocked() })
		return s
	}
	require.Equal(t, total(w.slow), total(w.fast))
}

// Whatever else happens, a limiter with the fast path does the same as one without.
func TestTheFastPathIsNotSeen(t *testing.T) {
	limits := rapid.Custom(func(t *rapid.T) throttle.Limits {
		if rapid.Bool().Draw(t, "sliding") {
			most := rapid.SampledFrom([]int64{1, 2, 3, 8, 9, 40, 1024, 1025}).Draw(t, "max")
			per := rapid.SampledFrom([]time.Duration{1, 3, time.Microsecond, time.Second, time.Hour, 2 * time.Hour}).Draw(t, "per")
			lim := windows(throttle.Sliding(most, per))
			lim.Concurrency = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "slots")
			return lim
		}
		rate := rapid.SampledFrom([]float64{1, 2, 3, 7, 1000, 1e9, 2e9, 0.001, 1e-6}).Draw(t, "rate")
		burst := rapid.SampledFrom([]int64{1, 2, 5, 1000}).Draw(t, "burst")
		lim := windows(throttle.Bucket(rate, burst))
		switch rapid.IntRange(0, 9).Draw(t, "more") {
		case 0:
			lim.Concurrency = 2
		case 1:
			lim.Windows = append(lim.Windows, throttle.Sliding(4, time.Second))
		case 2:
			lim.Windows[0] = lim.Windows[0].Of(throttle.Tokens)
		}
		return lim
	})
	costs := []throttle.Cost{{}, {}, {}, {}, {Requests: 1}, {Requests: 2}, {Tokens: 1}, {Requests: 1 << 40}, {Requests: -1}, {Requests: math.MinInt64}, {Input: -1}}
	used := 0
	rapid.Check(t, func(rt *rapid.T) {
		guard := rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond}).Draw(rt, "guard")
		w := newTwins(t, limits.Draw(rt, "limits"), throttle.WithMargin(guard))
		both := func(f func(l *throttle.Limiter)) { f(w.fast); f(w.slow) }
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			cost := rapid.SampledFrom(costs).Draw(rt, "cost")
			switch rapid.IntRange(0, 30).Draw(rt, "step") {
			case 0:
				both(func(l *throttle.Limiter) { l.PauseUntil(w.clock.Now().Add(time.Second)) })
			case 1:
				both((*throttle.Limiter).Reset)
			case 2:
				both(func(l *throttle.Limiter) { l.Close(errors.New("closed")) })
			case 3, 10, 11:
				both((*throttle.Limiter).Reopen)
				both((*throttle.Limiter).Resume)
			case 4:
				lim := limits.Draw(rt, "new limits")
				both(func(l *throttle.Limiter) { require.NoError(rt, l.SetLimits(lim)) })
			case 5:
				a, errA := w.fast.TryAcquire(cost)
				b, errB := w.slow.TryAcquire(cost)
				require.Equal(rt, errB == nil, errA == nil)
				if errA == nil {
					w.permits, w.otherPermit = append(w.permits, a), append(w.otherPermit, b)
				}
			case 6, 7, 12, 13:
				if n := len(w.permits); n > 0 {
					end := rapid.SampledFrom([]func(throttle.Permit){
						throttle.Permit.Cancel, throttle.Permit.Release, func(p throttle.Permit) { p.Settle(throttle.Cost{Requests: 3}) },
					}).Draw(rt, "end")
					end(w.permits[n-1])
					end(w.otherPermit[n-1])
					w.permits, w.otherPermit = w.permits[:n-1], w.otherPermit[:n-1]
				}
			case 8, 9:
				d := rapid.SampledFrom([]time.Duration{1, time.Microsecond, 333333333, 999999999, time.Second, time.Hour, 3 * time.Hour, 1000 * time.Hour}).Draw(rt, "advance")
				w.advance(d)
			default:
				for range rapid.SampledFrom([]int{1, 2, 3, 4, 30}).Draw(rt, "calls") {
					if w.fast.Open() {
						used++
					}
					require.Equal(rt, w.slow.Allow(cost), w.fast.Allow(cost))
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "look") == 0 { // it closes the fast path
				w.same(rt)
			}
		}
		w.same(rt)
	})
	assert.Greater(t, used, 300, "calls that found the fast path open")
}

// What a word has no room for goes the slow way once, and on.
func TestTheFastPathBeginsAnew(t *testing.T) {
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	l := newLimiter(t, windows(throttle.Bucket(1e9, 1<<20)))
	const more = 1<<19 + 10 // than a word counts
	for range more {
		l.Allow(throttle.Cost{})
	}
	require.True(t, l.Open())
	assert.EqualValues(t, more, l.Stats().Admitted)

	w := newTwins(t, windows(throttle.Sliding(1000, time.Nanosecond)))
	for range more {
		w.clock.Advance(1)
		require.True(t, w.fast.Allow(throttle.Cost{}))
	}
	require.True(t, w.fast.Open())
	assert.EqualValues(t, more, w.fast.Stats().Admitted)

	for _, window := range []throttle.Window{throttle.Bucket(1e9, 1000), throttle.Sliding(1000, time.Hour)} {
		w = newTwins(t, windows(window))
		for range 20 { // the instant has as little room
			w.clock.Advance(2 * time.Hour)
			for range 3 {
				require.True(t, w.fast.Allow(throttle.Cost{}))
			}
			require.True(t, w.fast.Open())
		}
		assert.EqualValues(t, 60, w.fast.Stats().Admitted)
	}
}

// A ring grows with what is in it. What it admits costs no memory once it has grown.
func TestTheRingGrows(t *testing.T) {
	w := newTwins(t, windows(throttle.Sliding(1000, time.Second)))
	for i := range 3000 {
		require.Equal(t, w.slow.Allow(throttle.Cost{}), w.fast.Allow(throttle.Cost{}), i)
		w.advance(500 * time.Microsecond)
	}
	require.True(t, w.fast.Open())
	w.same(t)
	w.advance(time.Second)
	assert.Zero(t, testing.AllocsPerRun(900, func() {
		w.fast.Allow(throttle.Cost{})
		w.fast.Stats()
	}))
	w.fast.Allow(throttle.Cost{})
	assert.False(t, w.fast.Open(), "it has to be written again, which takes as long as some slow calls")
	w.advance(time.Second)
	w.fast.Allow(throttle.Cost{})
	assert.True(t, w.fast.Open())
}

// A ring that is full before its window is grows, though calls are slower while it is closed, so that fewer units count.
func TestAFullRingGrows(t *testing.T) {
	w := newTwins(t, windows(throttle.Sliding(1000, time.Second)))
	closed := 0
	for i := range 10_000 {
		d := time.Second / 600
		if !w.fast.Open() {
			d *= 3
			closed = i
		}
		w.advance(d)
		require.Equal(t, w.slow.Allow(throttle.Cost{}), w.fast.Allow(throttle.Cost{}), i)
	}
	assert.Less(t, closed, 3000)
	w.same(t)
}

// A guard that is longer than a word has room for leaves the slow way, which allocates nothing.
func TestALongGuardHasNoFastPath(t *testing.T) {
	w := newTwins(t, windows(throttle.Bucket(1e9, 1000)), throttle.WithMargin(10*time.Hour))
	assert.Zero(t, testing.AllocsPerRun(100, func() { w.fast.Allow(throttle.Cost{}) }))
	assert.False(t, w.fast.Open())
}

// A call that waits is not overtaken, by however many.
func TestTheFastPathOvertakesNoCall(t *testing.T) {
	busy := newLimiter(t, throttle.Limits{Concurrency: 1})
	slot, err := busy.TryAcquire(throttle.Cost{})
	require.NoError(t, err)
	t.Cleanup(func() { slot.Release() })
	for name, wait := range map[string]func(ctx context.Context, l *throttle.Limiter) error{
		"a call": func(ctx context.Context, l *throttle.Limiter) error {
			return l.Wait(ctx, throttle.Cost{Requests: 5})
		},
		"a call that needs another limiter too": func(ctx context.Context, l *throttle.Limiter) error {
			return throttle.AcquireAll(ctx, []*throttle.Limiter{l, busy}, throttle.Cost{Requests: 5}, nil, make([]throttle.Permit, 2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTwins(t, windows(throttle.Bucket(1, 5))).fast
			require.True(t, l.Allow(throttle.Cost{}))
			require.True(t, l.Open())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- wait(ctx, l) }()
			require.Eventually(t, func() bool { return l.Stats().Waiting == 1 }, 10*time.Second, time.Millisecond)
			for range 3 {
				require.False(t, l.Allow(throttle.Cost{}), "four units are left, for the call that waits")
				require.False(t, l.Open())
			}
			cancel()
			require.Error(t, <-ended)
			require.True(t, l.Allow(throttle.Cost{}))
		})
	}
}

// What the end of a permit gives back depends on how full the bucket was meanwhile.
func TestTheFastPathWaitsForPermits(t *testing.T) {
	w := newTwins(t, windows(throttle.Bucket(1, 5)))
	var permits []throttle.Permit
	for _, l := range []*throttle.Limiter{w.fast, w.slow} {
		p, err := l.TryAcquire(throttle.Cost{})
		require.NoError(t, err)
		permits = append(permits, p)
	}
	for _, d := range []time.Duration{950 * time.Millisecond, 1030 * time.Millisecond} { // ever fuller
		w.advance(d)
		require.True(t, w.fast.Allow(throttle.Cost{}) && w.slow.Allow(throttle.Cost{}))
	}
	for _, p := range permits {
		p.Cancel()
	}
	w.same(t)
}

// A call that was held up after it had read its clock is not refused because of the units that others took meanwhile, if
// some are left.
func TestTheFastPathRefusesNoCallAsOfAnOldClock(t *testing.T) {
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	for name, window := range map[string]throttle.Window{
		"a bucket": throttle.Bucket(1, 2), "a sliding window": throttle.Sliding(2, time.Second),
	} {
		t.Run(name, func(t *testing.T) { refusesNoCallAsOfAnOldClock(t, windows(window), true) })
	}
}

// The same holds for a call that has read its clock before it waited for the lock.
func TestNoCallIsRefusedAsOfAnOldClock(t *testing.T) {
	lim := windows(throttle.Bucket(1, 2), throttle.Bucket(1, 3))
	refusesNoCallAsOfAnOldClock(t, lim, false)
	refusesNoCallAsOfAnOldClock(t, lim, false, throttle.WithGovernor(&law{}))
}

func refusesNoCallAsOfAnOldClock(t *testing.T, lim throttle.Limits, open bool, opts ...throttle.Option) {
	t.Helper()
	clock := &holding{FakeClock: clockwork.NewFakeClock()}
	l, err := throttle.New(lim, append(opts, throttle.WithClock(clock))...)
	require.NoError(t, err)
	require.True(t, l.Allow(throttle.Cost{}))
	require.Equal(t, open, l.Open())
	clock.then = func() {
		clock.Advance(10 * time.Second)
		require.True(t, l.Allow(throttle.Cost{}))
	}
	require.True(t, l.Allow(throttle.Cost{}))
	require.Equal(t, open, l.Open())
	require.False(t, l.Allow(throttle.Cost{}))
}

// Nor is a call that needs the lock, and was held up while others were admitted without it.
func TestTheFastPathIsFoldedIntoTheSameTime(t *testing.T) {
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	for name, window := range map[string]throttle.Window{
		"a bucket": throttle.Bucket(1, 3), "a sliding window": throttle.Sliding(3, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			clock := &holding{FakeClock: clockwork.NewFakeClock()}
			l, err := throttle.New(windows(window), throttle.WithClock(clock))
			require.NoError(t, err)
			for range 2 {
				require.True(t, l.Allow(throttle.Cost{}))
			}
			require.True(t, l.Open())
			clock.then = func() {
				clock.Advance(10 * time.Second)
				require.True(t, l.Allow(throttle.Cost{}))
				require.True(t, l.Open())
			}
			require.True(t, l.Allow(throttle.Cost{Requests: 2}))
			require.False(t, l.Allow(throttle.Cost{}))
		})
	}
}

// holding is a clock that holds up the next call that has read it.
type holding struct {
	*clockwork.FakeClock
	then func()
}

func (h *holding) Since(t time.Time) time.Duration {
	d := h.FakeClock.Since(t)
	if then := h.then; then != nil {
		h.then = nil
		then()
	}
	return d
}

// Calls that are made at once by several processors are all counted.
func TestTheFastPathLosesNoCall(t *testing.T) {
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	const goroutines, calls = 4, 50_000
	l := newLimiter(t, windows(throttle.Bucket(1e9, 1<<30)))
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range calls {
				l.Allow(throttle.Cost{})
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, goroutines*calls, l.Stats().Admitted)
}

// Of calls at one instant exactly as many are admitted as fit, whatever takes the lock between them, and each is counted.
func TestTheFastPathIsExactAmongMany(t *testing.T) {
	const burst = 40
	for name, lim := range map[string]throttle.Limits{
		"a bucket":                     windows(throttle.Bucket(1e6, burst)),
		"a sliding window":             windows(throttle.Sliding(burst, burst*time.Microsecond)),
		"a sliding window of one call": windows(throttle.Sliding(1, time.Microsecond)),
		"two buckets, by the lock":     windows(throttle.Bucket(1e6, burst), throttle.Bucket(1e6, burst)),
	} {
		t.Run(name, func(t *testing.T) { exactAmongMany(t, lim) })
	}
}

func exactAmongMany(t *testing.T, lim throttle.Limits) {
	t.Helper()
	window := lim.Windows[0]
	const goroutines, rounds = 8, 60
	clock := clockwork.NewFakeClock()
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	l, err := throttle.New(lim, throttle.WithClock(yielding{clock}))
	require.NoError(t, err)
	burst := window.Max()
	fits, calls := burst, int64(0)
	var taken []int64 // in each round of the last burst microseconds
	for round := range rounds {
		var allowed, made atomic.Int64
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				for j := range 120 {
					made.Add(1)
					if l.Allow(throttle.Cost{}) {
						allowed.Add(1)
					}
					switch (i + j) % 40 {
					case 0:
						_ = l.Stats()
					case 1:
						_ = l.Windows()
					case 2:
						l.Resume()
					case 3:
						made.Add(1)
						if p, err := l.TryAcquire(throttle.Cost{}); err == nil {
							allowed.Add(1)
							p.Release()
						}
					case 4:
						runtime.Gosched()
					}
				}
			})
		}
		wg.Wait()
		require.Equal(t, fits, allowed.Load(), "round %d", round)
		calls += made.Load()
		passed := int64(round)%burst + 1
		clock.Advance(time.Duration(passed) * time.Microsecond)
		fits = passed
		if window.Kind() == throttle.SlidingWindow {
			taken = append(taken, allowed.Load())
			for range passed - 1 {
				taken = append(taken, 0)
			}
			taken = taken[max(0, len(taken)-int(burst)+1):]
			fits = burst
			for _, n := range taken {
				fits -= n
			}
		}
	}
	s := l.Stats()
	assert.Equal(t, calls, s.Admitted+s.Refused)
}

// In real time no interval of a sliding window has more calls that began and ended in it than it may have, whatever
// closes the ring: calls that wait, permits that are out, new limits. What has waited began just before it was admitted.
func TestTheRingNeverExceedsItsWindow(t *testing.T) {
	t.Cleanup(throttle.SetFast(func(clockwork.Clock, bool) bool { return true }))
	const goroutines, most, per = 4, 50, 200 * time.Microsecond
	roomy := throttle.Limits{Concurrency: goroutines + 1, Windows: []throttle.Window{throttle.Sliding(most, per)}}
	tight := throttle.Limits{Concurrency: goroutines + 1, Windows: []throttle.Window{throttle.Sliding(most/2, per)}}
	l := newLimiter(t, roomy)
	type span struct{ began, ended time.Duration }
	logs := make([][]span, goroutines)
	start := time.Now()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range 20_000 {
				s := span{began: time.Since(start)}
				var ok bool
				switch {
				case i%100 == g:
					p, err := l.Acquire(t.Context(), throttle.Cost{})
					assert.NoError(t, err)
					sent, _ := p.Sent()
					s.began, ok = sent.At.Sub(start), true
					p.Release()
				case i%1000 == 500+g:
					assert.NoError(t, l.SetLimits(tight))
				case i%1000 == 600+g:
					assert.NoError(t, l.SetLimits(roomy))
				default:
					ok = l.Allow(throttle.Cost{})
				}
				if s.ended = time.Since(start); ok {
					logs[g] = append(logs[g], s)
				}
				if i%1000 == g {
					_ = l.Stats()
				}
			}
		})
	}
	wg.Wait()
	all := slices.Concat(logs...)
	require.Greater(t, len(all), most)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.ended, b.ended) })
	for i := range all {
		within := 0
		for j := i; j >= 0 && all[j].ended > all[i].ended-per; j-- {
			if all[j].began > all[i].ended-per {
				within++
			}
		}
		require.LessOrEqual(t, within, most)
	}
}

// yielding is a clock that lets other goroutines go first: a call has an old time when it goes on.
type yielding struct{ *clockwork.FakeClock }

func (y yielding) Since(t time.Time) time.Duration {
	d := y.FakeClock.Since(t)
	runtime.Gosched()
	return d
}
