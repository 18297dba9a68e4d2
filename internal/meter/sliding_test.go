package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSlidingWait(t *testing.T) {
	type take struct {
		at Instant
		n  int64
	}
	for _, tc := range []struct {
		name  string
		max   int64
		takes []take
		now   Instant
		n     int64
		want  time.Duration
	}{
		{"empty", 3, nil, 0, 3, 0},
		{"room left", 3, []take{{0, 2}}, 0, 1, 0},
		{"one too many waits for the oldest", 3, []take{{0, 1}, {1, 2}}, 2, 1, second - 2},
		{"two too many wait for the second", 3, []take{{0, 1}, {1, 1}, {5, 1}}, 6, 2, second - 5},
		{"as much as the max waits for all", 3, []take{{0, 1}, {1, 1}, {5, 1}}, 6, 3, second - 1},
		{"a nanosecond before the end", 1, []take{{0, 1}}, second - 1, 1, 1},
		{"the interval is half open", 1, []take{{0, 1}}, second, 1, 0},
		{"a debt counts", 3, []take{{0, 3}, {4, 10}}, 5, 1, second - 1},
		{"long after", 3, []take{{0, 3}}, time.Hour, 3, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := slidingOf(tc.max, second)
			for _, k := range tc.takes {
				m.Take(k.at, k.n)
			}
			assert.Equal(t, tc.want, m.Wait(tc.now, tc.n))
			if tc.want > 0 {
				assert.Equal(t, time.Duration(1), m.Wait(tc.now+tc.want-1, tc.n), "no sooner")
			}
			assert.Zero(t, m.Wait(tc.now+tc.want, tc.n), "exactly then it fits")
		})
	}
}

func TestSlidingSpentAndGiveBack(t *testing.T) {
	m := slidingOf(10, second)
	m.Take(100, 4)
	m.Take(200, 3)
	assert.Equal(t, int64(7), m.spent(200))

	m.giveBack(300, 100, 1)
	assert.Equal(t, int64(6), m.spent(300))
	assert.Equal(t, second-200, m.Wait(300, 8)-100, "what is left of the first stamp still ends with it")

	m.giveBack(300, 150, 5)
	assert.Equal(t, int64(6), m.spent(300), "nothing was taken at that Instant")
	m.giveBack(300, 999, 5)
	assert.Equal(t, int64(6), m.spent(300), "nothing was taken later")
	m.giveBack(300, 200, 50)
	assert.Equal(t, int64(3), m.spent(300), "no more than was taken")

	m.Take(400, 1)
	m.Take(400+second, 2)
	m.giveBack(400+second, 400, 1)
	assert.Equal(t, int64(2), m.spent(400+second), "an expired stamp returns nothing")
}

// A give-back goes to the interval that it was taken from, not to the newest.
func TestSlidingGiveBackKeepsLaterStamps(t *testing.T) {
	m := slidingOf(2, second)
	m.Take(0, 1)
	m.Take(second/2, 1)
	m.giveBack(second/2, 0, 1)
	m.Take(second/2, 1)
	assert.Equal(t, second/2, m.Wait(second, 1), "both units of the second half are still there")
}

func TestSlidingMemory(t *testing.T) {
	t.Run("takes that are cancelled leave nothing", func(t *testing.T) {
		m := slidingOf(8, time.Hour)
		m.Take(0, 1) // a stamp at the head, so that none behind it expires
		for now := range Instant(100_000) {
			m.Take(now+1, 1)
			m.giveBack(now+1, now+1, 1)
			require.LessOrEqual(t, len(m.ring), 8)
		}
		assert.Equal(t, int64(1), m.spent(100_000))
		assert.Equal(t, time.Hour-100_000, m.Wait(100_000, 8))
	})
	t.Run("a large window is quantised", func(t *testing.T) {
		m := slidingOf(maxAmount, second)
		for i := range Instant(200_000) {
			m.Take(i*second/50_000, 3)
			require.LessOrEqual(t, len(m.ring), 2*maxStamps)
		}
	})
	t.Run("a ring begins small", func(t *testing.T) {
		for maximum, want := range map[int64]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 4, maxAmount: 4} {
			assert.Len(t, slidingOf(maximum, second).ring, want, "max %d", maximum)
		}
	})
	t.Run("a ring grows while it wraps around", func(t *testing.T) {
		m := slidingOf(200, second)
		for i := range Instant(40) {
			m.Take(i, 1)
		}
		now := second + 30
		assert.Equal(t, int64(9), m.spent(now))
		for i := range Instant(191) {
			assert.Zero(t, m.Wait(now+i, 1))
			m.Take(now+i, 1)
		}
		assert.Equal(t, int64(191), m.spent(now+190), "the last of the first takes have expired")
		assert.Equal(t, second-190, m.Wait(now+190, 10))
	})
}

func TestSlidingQuantisation(t *testing.T) {
	for _, tc := range []struct {
		name string
		max  int64
		per  time.Duration
		slot time.Duration
	}{
		{"up to 1,024 it is exact", maxStamps, second, 1},
		{"above, a sub-slot", maxStamps + 1, 1024 * time.Millisecond, time.Millisecond},
		{"a sub-slot is never longer than per/1024", maxStamps + 1, 1024*time.Millisecond + 1023, time.Millisecond},
		{"a tiny period is exact", maxStamps + 1, 100, 1},
	} {
		assert.Equal(t, tc.slot, slidingOf(tc.max, tc.per).slot, tc.name)
	}

	const per = 1024 * time.Millisecond
	m := slidingOf(2000, per)
	m.Take(time.Millisecond, 500)   // at the edge: as it is
	m.Take(time.Millisecond+1, 500) // just behind it: up to the next
	m.Take(2*time.Millisecond, 500) // the same sub-slot
	assert.Equal(t, 2, m.len)
	assert.Equal(t, per+time.Millisecond-2*time.Millisecond, m.Wait(2*time.Millisecond, 1000))
	assert.Equal(t, per, m.Wait(2*time.Millisecond, 2000))
	m.giveBack(3*time.Millisecond, time.Millisecond+1, 500)
	assert.Equal(t, int64(1000), m.spent(3*time.Millisecond), "found again under its rounded stamp")
}

// Against a naive log: a quantised window delays by less than per/1024 and
// never admits early; an exact one is exact.
func TestSlidingAgainstLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.SampledFrom([]time.Duration{second, 1024, 5000, time.Minute}).Draw(t, "per")
		maximum := rapid.SampledFrom([]int64{1, 3, 1024, 1025, 50_000}).Draw(t, "max")
		m := slidingOf(maximum, per)
		type taken struct {
			at Instant
			n  int64
		}
		var log []taken
		naive := func(now Instant, n int64) time.Duration {
			for wait := time.Duration(0); ; {
				sum, next := n, Instant(0)
				for _, k := range log {
					if now+wait-k.at < per {
						sum += k.n
						if k.n > 0 && next == 0 {
							next = k.at + per
						}
					}
				}
				if sum <= maximum {
					return wait
				}
				wait = next - now
			}
		}
		now := Instant(0)
		for range rapid.IntRange(1, 60).Draw(t, "ops") {
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				now += time.Duration(rapid.Int64Range(1, int64(per)/3).Draw(t, "advance"))
			case 1, 2:
				n := rapid.Int64Range(1, maximum).Draw(t, "n")
				ideal, got := naive(now, n), m.Wait(now, n)
				if got < ideal || got >= ideal+max(1, per/1024) {
					t.Fatalf("wait %d, ideal %d", got, ideal)
				}
				if m.Wait(now+got, n) != 0 {
					t.Fatalf("does not fit after %d", got)
				}
				now += got
				m.Take(now, n)
				log = append(log, taken{now, n})
			case 3:
				n := rapid.Int64Range(1, 2*maximum).Draw(t, "debit")
				m.Take(now, n)
				log = append(log, taken{now, n})
			case 4:
				if len(log) > 0 {
					k := &log[rapid.IntRange(0, len(log)-1).Draw(t, "which")]
					n := rapid.Int64Range(0, k.n).Draw(t, "back")
					m.giveBack(now, k.at, n)
					k.n -= n
				}
			}
		}
	})
}

func TestSlidingCopyFrom(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to Window
		wait     time.Duration // for all of to's max, at 500 ms, after takes at 0, 100 and 300 ms
	}{
		{"the same", slidingWindow(10, second), slidingWindow(10, second), 800 * time.Millisecond},
		{"lower", slidingWindow(10, second), slidingWindow(1, second), 800 * time.Millisecond},
		{"higher", slidingWindow(10, second), slidingWindow(100, second), 800 * time.Millisecond},
		{"longer", slidingWindow(10, second), slidingWindow(10, 2*second), 1800 * time.Millisecond},
		{"shorter forgets", slidingWindow(10, second), slidingWindow(10, 200*time.Millisecond), 0},
		{"what the old one forgot stays forgotten", slidingWindow(10, 300*time.Millisecond), slidingWindow(10, second), 800 * time.Millisecond},
		{"to quantised", slidingWindow(10, second), slidingWindow(5000, 1024*time.Millisecond), 824 * time.Millisecond},
	} {
		from := newSliding(tc.from, 0)
		from.Take(0, 3)
		from.Take(100*time.Millisecond, 2)
		from.Take(300*time.Millisecond, 4)
		to := newSliding(tc.to, 0)
		to.follow(500*time.Millisecond, from)
		assert.Equal(t, tc.wait, to.Wait(500*time.Millisecond, tc.to.Max), tc.name)
	}
	m := slidingOf(10, second)
	m.follow(299*time.Millisecond, func() *Sliding {
		from := slidingOf(10, 300*time.Millisecond)
		from.Take(0, 3)
		from.Take(100, 2)
		return from
	}())
	assert.Equal(t, int64(5), m.spent(300*time.Millisecond))

	old := slidingOf(10, 300*time.Millisecond)
	old.Take(0, 3)
	old.Take(100*time.Millisecond, 2)
	m = slidingOf(10, second)
	m.follow(300*time.Millisecond, old)
	assert.Equal(t, int64(2), m.spent(300*time.Millisecond), "what the old one forgot stays forgotten")

	// Stamps are found again under the rounding of the new window.
	exact := slidingOf(10, second)
	exact.Take(time.Millisecond+1, 3)
	m = slidingOf(5000, 1024*time.Millisecond)
	m.follow(2*time.Millisecond, exact)
	m.giveBack(2*time.Millisecond, time.Millisecond+1, 3)
	assert.Zero(t, m.spent(2*time.Millisecond))

	// The stamps of a quantised window may lie ahead; what comes next joins
	// them and leaves late rather than early.
	from := slidingOf(5000, 1024*time.Millisecond)
	from.Take(time.Millisecond+1, 1)
	m = slidingOf(2, 1024*time.Millisecond)
	m.follow(time.Millisecond+1, from)
	m.Take(time.Millisecond+2, 1)
	assert.Equal(t, 1024*time.Millisecond, m.Wait(2*time.Millisecond, 1))
	m.giveBack(2*time.Millisecond, time.Millisecond+2, 1)
	assert.Equal(t, int64(2), m.spent(2*time.Millisecond), "merged away: kept rather than taken from another")
}
