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

// fine takes one for a refusal, down to a debt.
func (b *bucket) fine(debt float64) { b.level = max(-debt, b.level-1) }

// settle gives back what was reserved and not used.
func (b *bucket) settle(now time.Duration, n float64) {
	b.refill(now)
	b.level = min(b.burst, b.level+n)
}

func (b *bucket) scale(now time.Duration, factor float64) {
	b.refill(now)
	b.rate *= factor
}

func (b *bucket) meter() Meter {
	return Meter{
		Known:     true,
		Limit:     int64(b.rate*60 + 0.5),
		Remaining: int64(max(0, math.Floor(b.level))),
		Reset:     seconds((b.burst - b.level) / b.rate),
	}
}

// seconds rounds up to the next nanosecond: who waits that long has waited long enough.
func seconds(s float64) time.Duration { return time.Duration(math.Ceil(max(0, s) * 1e9)) }
