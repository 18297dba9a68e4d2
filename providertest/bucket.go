package providertest

import (
	"math/bits"
	"time"
)

// bucket is the state of a [TokenBucket]. It counts in time, not in requests:
// credit grows by a nanosecond each nanosecond and a request costs one interval.
// All of it is whole numbers, so nothing drifts, and a client that waits exactly
// as long as it was told is admitted.
type bucket struct {
	interval time.Duration // what one request costs
	full     time.Duration // the credit of a full bucket, Burst intervals
	credit   time.Duration // as of at; 0..full
	at       time.Time
}

// newBucket returns a full bucket.
func newBucket(limit TokenBucket, now time.Time) bucket {
	interval := limit.interval()
	full := time.Duration(limit.burst()) * interval
	return bucket{interval: interval, full: full, credit: full, at: now}
}

// advance refills the bucket up to now. A clock that steps back changes nothing.
func (b *bucket) advance(now time.Time) {
	elapsed := now.Sub(b.at)
	if elapsed <= 0 {
		return
	}
	b.at = now
	b.credit += min(elapsed, b.full-b.credit)
}

// wait returns how long until a request would be admitted; 0 means now.
func (b *bucket) wait() time.Duration { return max(0, b.interval-b.credit) }

// spend takes one request, or what there is of it.
func (b *bucket) spend() { b.credit = max(0, b.credit-b.interval) }

// quota describes the bucket as the rate-limit headers do.
func (b *bucket) quota() quota {
	return quota{
		limit:     int(b.full / b.interval),
		remaining: int(b.credit / b.interval),
		reset:     b.full - b.credit,
	}
}

// resize changes the limit and keeps the requests that are in the bucket, as far
// as the new one holds them: a raised limit is not a gift of burst.
func (b *bucket) resize(limit TokenBucket) {
	next := newBucket(limit, b.at)
	if whole := int64(b.credit / b.interval); whole < int64(next.full/next.interval) {
		next.credit = time.Duration(whole)*next.interval + scale(b.credit%b.interval, b.interval, next.interval)
	}
	*b = next
}

// scale returns part*to/from rounded down, without overflow; 0 <= part < from.
func scale(part, from, to time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(part), uint64(to)) //nolint:gosec // durations here are never negative
	scaled, _ := bits.Div64(high, low, uint64(from))  //nolint:gosec // as above
	return time.Duration(scaled)                      //nolint:gosec // less than to
}
