package providertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// epoch is where the explicit time of the pure tests begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

func TestBucketRefills(t *testing.T) {
	limit := Bucket{PerSecond: 500. / 60, Burst: 2} // one each 120 ms
	b := newBucket(limit, epoch)
	require.Equal(t, quota{limit: 2, remaining: 2}, b.quota())
	b.spend()
	b.spend()
	for _, step := range []struct {
		name  string
		now   time.Duration
		wait  time.Duration
		quota quota
	}{
		{"empty", 0, 120 * time.Millisecond, quota{2, 0, 240 * time.Millisecond}},
		{"one ns short", 120*time.Millisecond - 1, 1, quota{2, 0, 120*time.Millisecond + 1}},
		{"one", 120 * time.Millisecond, 0, quota{2, 1, 120 * time.Millisecond}},
		{"a clock that steps back", 60 * time.Millisecond, 0, quota{2, 1, 120 * time.Millisecond}},
		{"full", 240 * time.Millisecond, 0, quota{2, 2, 0}},
		{"never more than full", 1000 * time.Hour, 0, quota{2, 2, 0}},
	} {
		b.advance(at(step.now))
		require.Equal(t, step.wait, b.wait(), step.name)
		require.Equal(t, step.quota, b.quota(), step.name)
	}
}

func TestBucketNeverOwes(t *testing.T) {
	b := newBucket(Bucket{PerSecond: 1, Burst: 1}, epoch)
	for range 5 {
		b.spend()
	}
	require.Equal(t, time.Second, b.wait())
}

func TestBucketRoundsTheIntervalUp(t *testing.T) {
	require.Equal(t, 8571428572*time.Nanosecond, Bucket{PerSecond: 7. / 60, Burst: 7}.interval())
	for ms := range 2000 {
		each := time.Duration(ms+1) * time.Millisecond
		require.Equal(t, each, Bucket{PerSecond: 1 / each.Seconds(), Burst: 1}.interval(), "the error of a float is not rounded up")
	}
}

func TestBucketResizeKeepsWhatItHolds(t *testing.T) {
	perSecond := func(n, burst int) Bucket { return Bucket{PerSecond: float64(n), Burst: burst} }
	for _, c := range []struct {
		name     string
		from, to Bucket
		spent    int
		after    time.Duration // passes between the last request and the change
		want     quota
	}{
		{"the same", perSecond(3, 5), perSecond(3, 5), 3, 7, quota{5, 2, 3*333333334 - 7}},
		{"a larger burst is no gift", perSecond(10, 10), perSecond(10, 100), 8, 0, quota{100, 2, 9800 * time.Millisecond}},
		{"a smaller burst cuts", perSecond(10, 10), perSecond(10, 3), 2, 0, quota{3, 3, 0}},
		{"a part of a request stays that part", perSecond(10, 10), perSecond(1, 10), 10, 25 * time.Millisecond, quota{10, 0, 9750 * time.Millisecond}},
		{"empty stays empty", perSecond(10, 10), perSecond(100, 50), 10, 0, quota{50, 0, 500 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBucket(c.from, epoch)
			for range c.spent {
				b.spend()
			}
			b.advance(at(c.after))
			b.resize(c.to)
			require.Equal(t, c.want, b.quota())
		})
	}
}
