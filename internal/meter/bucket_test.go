package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBucketWait(t *testing.T) {
	const ms = time.Millisecond
	m := bucketOf(10, 5)
	assert.Zero(t, m.Wait(0, 5), "it begins full")
	m.Take(0, 5)
	assert.Equal(t, int64(5), m.spent(0))
	assert.Equal(t, 100*ms, m.Wait(0, 1))
	assert.Equal(t, 500*ms, m.Wait(0, 5))
	assert.Equal(t, time.Duration(1), m.Wait(100*ms-1, 1))
	assert.Zero(t, m.Wait(100*ms, 1))
	assert.Equal(t, 100*ms, m.Wait(100*ms, 2))
	assert.Equal(t, int64(4), m.spent(150*ms), "part of a unit counts")

	m.Take(200*ms, 7)
	assert.Equal(t, 600*ms, m.Wait(200*ms, 1), "a debt has to refill first")
	assert.Equal(t, int64(10), m.spent(200*ms))

	odd := bucketOf(3, 2)
	odd.Take(0, 2)
	assert.Equal(t, time.Duration(333_333_334), odd.Wait(0, 1), "a part of a nanosecond is rounded up")
	assert.Equal(t, time.Duration(666_666_667), odd.Wait(0, 2))
	assert.Equal(t, int64(1), odd.spent(666_666_666), "so is what is missing")
	assert.Zero(t, odd.spent(666_666_667))

	odd = bucketOf(3, 2)
	odd.Take(0, 1)
	odd.Take(333_333_333, 1)
	assert.InDelta(t, 2.0/3, odd.frac, 1e-6, "also when hardly anything is missing")

	odd = bucketOf(3, 3)
	odd.Take(0, 3)
	odd.giveBack(0, 0, 1)
	assert.Equal(t, Instant(666_666_666), odd.full, "as if two had been taken")
	assert.InDelta(t, 2.0/3, odd.frac, 1e-6)

	assert.Zero(t, m.Wait(time.Hour, 5))
	m.Take(time.Hour, 5)
	assert.Equal(t, 100*ms, m.Wait(time.Hour, 1), "a long pause saves no more than the burst")
}

func TestBucketGiveBack(t *testing.T) {
	const s = time.Second
	type op struct {
		at   Instant
		take int64
		back int64   // given back at `at`
		of   Instant // when that was taken
	}
	for _, tc := range []struct {
		name string
		ops  []op
		now  Instant
		left int64 // of 10, refilling at 1 per second
	}{
		{"at once", []op{{at: 0, take: 10}, {at: 0, back: 10, of: 0}}, 0, 10},
		{"a part", []op{{at: 0, take: 10}, {at: 0, back: 4, of: 0}}, 0, 4},
		{"later, while it is not yet full", []op{{at: 0, take: 10}, {at: 3 * s, back: 10, of: 0}}, 3 * s, 10},
		{"of two, the earlier", []op{{at: 0, take: 5}, {at: 0, take: 5}, {at: 0, back: 5, of: 0}}, 0, 5},
		{
			"it was full again: nothing was missing",
			[]op{{at: 0, take: 10}, {at: 10 * s, take: 10}, {at: 10 * s, back: 10, of: 0}},
			10 * s, 0,
		},
		{
			"it would have been full in between: only what fitted",
			[]op{{at: 0, take: 10}, {at: 5 * s, take: 5}, {at: 5 * s, back: 10, of: 0}},
			5 * s, 5,
		},
		{
			"the second of two takes does not hide the first",
			[]op{{at: 0, take: 10}, {at: 4 * s, take: 4}, {at: 5 * s, take: 1}, {at: 5 * s, back: 4, of: 4 * s}},
			5 * s, 4,
		},
		{
			"a low after a higher one is what counts",
			[]op{{at: s, take: 10}, {at: 2 * s, take: 1}, {at: 5 * s, take: 1}, {at: 5 * s, back: 10, of: s}},
			5 * s, 9,
		},
		{
			"the second give-back finds what the first left",
			[]op{
				{at: 0, take: 4},
				{at: 0, take: 4},
				{at: 2 * s, take: 4},
				{at: 2 * s, back: 4, of: 0},
				{at: 2 * s, back: 4, of: 0},
			},
			2 * s, 6,
		},
		{
			"a debt given back",
			[]op{{at: 0, take: 10}, {at: 0, take: 20}, {at: 5 * s, back: 20, of: 0}},
			5 * s, 5,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := bucketOf(1, 10)
			for _, o := range tc.ops {
				if o.take > 0 {
					m.Take(o.at, o.take)
				} else {
					m.giveBack(o.at, o.of, o.back)
				}
			}
			assert.Equal(t, 10-tc.left, m.spent(tc.now))
			if tc.left > 0 {
				assert.Zero(t, m.Wait(tc.now, tc.left))
			}
			if tc.left < 10 {
				assert.Equal(t, time.Second, m.Wait(tc.now, tc.left+1))
			}
		})
	}
}

// A guard delays the refilling; it does not keep from giving back.
func TestBucketGiveBackWithGuard(t *testing.T) {
	m := newBucket(tokenBucket(1, 10), time.Second)
	m.Take(0, 10)
	m.giveBack(0, 0, 10)
	assert.Zero(t, m.Wait(time.Second, 10))
}

// What was given back is as if it had never been taken: a bucket replayed
// without it holds as much, or more where the meter has merged its lows.
func TestBucketGiveBackAgainstReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type taken struct {
			at Instant
			n  int64
		}
		const perUnit, burst = int64(time.Second), 10
		m, now := bucketOf(1, burst), rapid.SampledFrom([]Instant{0, 1}).Draw(t, "start")
		var log []taken
		most := rapid.SampledFrom([]int{5, 14, 100}).Draw(t, "most")
		for range rapid.IntRange(1, 80).Draw(t, "ops") {
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				now += time.Duration(rapid.Int64Range(1, 3*perUnit).Draw(t, "advance"))
			case 1:
				if len(log) == most {
					continue
				}
				n := rapid.Int64Range(1, burst).Draw(t, "n")
				m.Take(now, n) // whether it fits or not
				log = append(log, taken{now, n})
			case 2:
				if len(log) > 0 {
					k := &log[rapid.IntRange(0, len(log)-1).Draw(t, "which")]
					n := rapid.Int64Range(0, k.n).Draw(t, "back")
					m.giveBack(now, k.at, n)
					k.n -= n
				}
			}
			missing, last := int64(0), Instant(0)
			for _, k := range log {
				missing, last = max(0, missing-int64(k.at-last))+k.n*perUnit, k.at
			}
			missing = max(0, missing-int64(now-last))
			got := m.missing(now)
			if got < float64(missing) {
				t.Fatalf("at %s %v ns are missing, %d should be", now, got, missing)
			}
			if most < maxLows && got != float64(missing) {
				t.Fatalf("at %s %v ns are missing, only %d should be", now, got, missing)
			}
			if len(m.lows) > maxLows || cap(m.lows) > maxLows {
				t.Fatalf("%d lows of %d", len(m.lows), cap(m.lows))
			}
		}
	})
}

// With more lows than it keeps, a bucket still never gives back too much, and
// little less than that.
func TestBucketMergesLows(t *testing.T) {
	const takes = 60
	for name, tc := range map[string]struct {
		gap  time.Duration // between takes of 2 units, which take 2 s to refill
		loss float64       // nanoseconds
	}{
		"far above the rate":  {time.Millisecond, 0},
		"just above the rate": {1900 * time.Millisecond, 0.8e9},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(i int) Instant { return Instant(i) * tc.gap }
			most := 0.0
			for without := range takes {
				m := bucketOf(1, 200)
				missing, last := 0.0, Instant(0)
				for i := range takes {
					m.Take(at(i), 2)
					missing, last = max(0, missing-float64(at(i)-last)), at(i)
					if i != without {
						missing += 2e9
					}
				}
				end := at(takes)
				missing = max(0, missing-float64(end-last))
				m.giveBack(end, at(without), 2)
				loss := m.missing(end) - missing
				assert.GreaterOrEqual(t, loss, 0.0, "without take %d", without)
				most = max(most, loss)
			}
			assert.LessOrEqual(t, most, tc.loss)
		})
	}
}

// Only one low is lost, and the pair may be anywhere.
func TestBucketMergesThePairThatDiffersLeast(t *testing.T) {
	for name, tc := range map[string]struct{ lows, want []low }{
		"the first two":                      {[]low{{1, 10}, {2, 11}, {3, 20}, {4, 40}}, []low{{2, 10}, {3, 20}, {4, 40}}},
		"two in between":                     {[]low{{1, 10}, {2, 20}, {3, 21}, {4, 40}}, []low{{1, 10}, {3, 20}, {4, 40}}},
		"the last two":                       {[]low{{1, 10}, {2, 20}, {3, 40}, {4, 41}}, []low{{1, 10}, {2, 20}, {4, 40}}},
		"by ratio, not by what lies between": {[]low{{1, 10}, {2, 15}, {3, 100}, {4, 110}}, []low{{1, 10}, {2, 15}, {4, 100}}},
		"nothing was missing at the first":   {[]low{{1, 0}, {2, 10}, {3, 20}}, []low{{1, 0}, {3, 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := Bucket{lows: tc.lows}
			m.mergeLows()
			assert.Equal(t, tc.want, m.lows)
		})
	}

	m := bucketOf(1, 100)
	for i := range 3 * maxLows {
		m.Take(Instant(i+1), 1)
		require.Len(t, m.lows, min(i, maxLows), "it was full before the first take")
	}
}

// After exactly the wait that was returned the cost fits, and a nanosecond
// earlier it does not, for every rate and burst that validation lets through.
func TestBucketNeverSticks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e-9, 1e12).Draw(t, "rate")
		burst := rapid.Int64Range(1, maxAmount).Draw(t, "burst")
		if float64(burst)/rate > LongestFill.Seconds() {
			t.Skip("refused")
		}
		m, now := bucketOf(rate, burst), Instant(0)
		for range 20 {
			now += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "advance"))
			n := rapid.Int64Range(1, burst).Draw(t, "n")
			wait := m.Wait(now, n)
			if m.Wait(now+wait, n) != 0 {
				t.Fatalf("%d units do not fit after %s", n, wait)
			}
			if wait > 0 && m.Wait(now+wait-1, n) != 1 {
				t.Fatalf("%d units fit before %s", n, wait)
			}
			now += wait
			if now > 20*365*24*time.Hour {
				return
			}
			m.Take(now, n)
		}
	})
}

// Taken one by one as soon as they fit, many units take the time that the
// rate says: no error builds up, neither for odd rates nor in a bucket that
// takes years to fill.
func TestBucketKeepsItsRate(t *testing.T) {
	for _, tc := range []struct {
		rate  float64
		burst int64
		first int64         // taken at once
		want  time.Duration // of 30,000 more
	}{
		{3, 2, 2, 10_000 * time.Second},
		{7, 2, 2, 30_000 * time.Second / 7},
		{1e9 / 3, 1, 1, 90_000},
		{1000, maxAmount, maxAmount, 30 * time.Second},
	} {
		m, now := bucketOf(tc.rate, tc.burst), Instant(0)
		m.Take(0, tc.first)
		for range 30_000 {
			wait := m.Wait(now, 1)
			require.Positive(t, wait)
			now += wait
			m.Take(now, 1)
		}
		// A float64 knows 35 years, which the last one takes to fill, to 64 ns.
		assert.InDelta(t, tc.want, now, 64, "rate %g", tc.rate)
	}
}

func TestBucketCentury(t *testing.T) {
	m := bucketOf(1, 1)
	for range 10 {
		m.Take(0, maxAmount) // debts without end
		assert.Equal(t, LongestFill, m.Wait(0, 1), "no debt lasts longer, and nothing overflows")
	}
	for range 2 { // more than the debt that was kept
		m.giveBack(0, 0, maxAmount)
		assert.Zero(t, m.Wait(0, 1))
	}
}

func TestBucketCopyFrom(t *testing.T) {
	for _, tc := range []struct {
		name string
		to   Window
		left int64 // after 6 of 10 were taken from tokenBucket(1, 10)
	}{
		{"the same", tokenBucket(1, 10), 4},
		{"another rate", tokenBucket(1000, 10), 4},
		{"lower, above what is left", tokenBucket(1, 5), 4},
		{"lower, below what is left", tokenBucket(1, 3), 3},
		{"higher keeps what was left", tokenBucket(1, 100), 4},
	} {
		from := bucketOf(1, 10)
		from.Take(0, 6)
		m := newBucket(tc.to, 0)
		m.follow(0, from)
		assert.Equal(t, tc.to.Max-tc.left, m.spent(0), tc.name)
	}

	from := bucketOf(1, 10)
	from.Take(0, 25)
	m := bucketOf(5, 5)
	m.follow(0, from)
	assert.Equal(t, 16*time.Second/5, m.Wait(0, 1), "a debt of 15 units stays one")
	m.giveBack(0, 0, 25)
	assert.Zero(t, m.Wait(0, 5))

	// What overflowed just before the change stays lost after it.
	from = bucketOf(1, 10)
	from.Take(0, 1)
	m = bucketOf(1, 12)
	m.follow(second/2, from)
	m.giveBack(second/2, 0, 1)
	assert.Equal(t, 2*time.Second, m.Wait(second/2, 12), "the 2 units that it grew by, not 1.5 or 2.5")

	// So does what was taken before it was full.
	from = bucketOf(1, 10)
	from.Take(0, 5)
	m = bucketOf(1, 20)
	m.follow(20*time.Second, from)
	m.giveBack(20*time.Second, 0, 5)
	assert.Equal(t, int64(10), m.spent(20*time.Second))

	// At another rate, units are given back, not time.
	from = bucketOf(10, 10)
	from.Take(0, 4)
	from.Take(1, 4)
	m = bucketOf(1, 10)
	m.follow(1, from)
	m.Take(2, 2)
	m.giveBack(2, 0, 4)
	assert.Equal(t, int64(6), m.spent(2))

	// What is given back after the change overflows as it would have done.
	from = bucketOf(1, 10)
	from.Take(0, 6)
	m = bucketOf(1, 3)
	m.follow(0, from)
	m.Take(1, 3)
	m.giveBack(1, 0, 6)
	assert.Equal(t, int64(3), m.spent(1))
}

// A unit that refills in whole nanoseconds is charged without a fraction, and to the same effect.
func TestWholeUnitsAreChargedAsOthersAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Window{Kind: TokenBucket, Rate: rapid.SampledFrom([]float64{1e9, 2e9, 1000, 3, 1, 0.001, 1e-7, 1e-9}).Draw(t, "rate"), Max: 1 << 20}
		whole, other := newBucket(w, 0), newBucket(w, 0)
		other.few = 0
		var now Instant
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += rapid.SampledFrom([]Instant{0, 1, time.Second, 1000 * time.Hour}).Draw(t, "advance")
			n := rapid.SampledFrom([]int64{1, 2, 1000, 1 << 20, 1 << 40}).Draw(t, "n")
			if rapid.IntRange(0, 3).Draw(t, "back") == 0 {
				whole.giveBack(now, now, n)
				other.giveBack(now, now, n)
			} else {
				whole.Take(now, n)
				other.Take(now, n)
			}
			require.Equal(t, other.full, whole.full)
			require.Equal(t, other.frac, whole.frac) //nolint:testifylint // they are the same
			require.Equal(t, other.Wait(now, 1), whole.Wait(now, 1))
		}
	})
}
