package provider

import (
	"math"
	"time"
)

// bucket is a token bucket. Its level is a float that is refilled when it is looked at.
type bucket struct {
	rate  float64 // per second
	burst float64
	level float64
	at    time.Duration
}

// crumb forgives what rounding took from the level.
const crumb = 1e-9

func newBucket(b Bucket) *bucket {
	if b.PerMinute == 0 {
		return nil
	}
	return &bucket{rate: b.PerMinute / 60, burst: b.Burst, level: b.Burst}
}

func (b *bucket) refill(now time.Duration) {
	b.level = min(b.burst, b.level+(now-b.at).Seconds()*b.rate)
	b.at = now
}

// wait is how long it takes until n are in.
func (b *bucket) wait(now time.Duration, n float64) time.Duration {
	b.refill(now)
	if b.level >= n-crumb {
		return 0
	}
	return seconds((n - b.level) / b.rate)
}

// take may follow a wait of 0 only.
func (b *bucket) take(n float64) { b.level -= n }

// settle gives back what was reserved and not used.
func (b *bucket) settle(now time.Duration, n float64) {
	b.refill(now)
	b.level = min(b.burst, b.level+n)
}

func (b *bucket) scale(now time.Duration, factor float64) {
	b.refill(now)
	b.rate *= factor
}

// meter is what headers say; the limit is of so many seconds.
func (b *bucket) meter(now time.Duration, per float64) Meter {
	b.refill(now)
	return Meter{
		Known:     true,
		Limit:     int64(b.rate*per + 0.5),
		Remaining: int64(max(0, math.Floor(b.level))),
		Reset:     seconds((b.burst - b.level) / b.rate),
	}
}

// calls is a bucket of calls with a limit that headers state for so many seconds.
type calls struct {
	bucket *bucket
	per    float64
}

func (c calls) wait(now time.Duration) time.Duration    { return c.bucket.wait(now, 1) }
func (c calls) take(time.Duration)                      { c.bucket.take(1) }
func (c calls) scale(now time.Duration, factor float64) { c.bucket.scale(now, factor) }
func (c calls) meter(now time.Duration) Meter           { return c.bucket.meter(now, c.per) }

func (c calls) fine(_ time.Duration, debt float64) {
	c.bucket.level = max(-debt, c.bucket.level-1)
}

// seconds rounds up to the next nanosecond, so that a wait of that length is long enough.
func seconds(s float64) time.Duration { return time.Duration(math.Ceil(max(0, s) * 1e9)) }
