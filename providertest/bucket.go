package providertest

import (
	"math/bits"
	"time"
)

// bucket is the state of a [Bucket]. It counts in time, not in requests or tokens: credit grows by a nanosecond each nanosecond
// and a request costs one interval. All amounts are integers, so nothing drifts, and a client that waits exactly for the
// declared time is admitted.
type bucket struct {
	interval time.Duration // what one request costs
	full     time.Duration // the credit of a full bucket, Burst intervals
	credit   time.Duration // as of at; 0..full, of tokens -full..full: a call may use more than it reserved
	at       time.Time
}

// newBucket returns a full bucket.
func newBucket(limit Bucket, now time.Time) bucket {
	interval := limit.interval()
	full := time.Duration(limit.Burst) * interval
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

func (b *bucket) inUse() bool { return b.interval > 0 }

// size returns what a full bucket holds.
func (b *bucket) size() int { return int(b.full / b.interval) }

// waitFor returns how long until n would be admitted; n is at most the size.
func (b *bucket) waitFor(n int) time.Duration { return max(0, b.cost(n)-b.credit) }

// move gives back one amount and takes another, into debt where that is more
// than there is.
func (b *bucket) move(back, take int) {
	b.credit = min(b.full, max(-b.full, b.credit+b.cost(back)-b.cost(take)))
}

// cost is what n weighs. More than a full bucket weighs as much as one, which
// keeps sums from overflowing.
func (b *bucket) cost(n int) time.Duration {
	return time.Duration(max(0, min(n, b.size()))) * b.interval
}

// quota describes the bucket as the rate-limit headers do.
func (b *bucket) quota() quota {
	return quota{
		limit:     b.size(),
		remaining: int(max(0, b.credit) / b.interval),
		reset:     b.full - b.credit,
	}
}

// resize changes the limit and keeps the requests that are in the bucket, as far
// as the new one holds them: a raised limit is not a gift of burst.
func (b *bucket) resize(limit Bucket) {
	next := newBucket(limit, b.at)
	if b.credit < 0 {
		next.credit = 0
		next.move(0, int((b.interval-1-b.credit)/b.interval))
	} else if whole := int64(b.credit / b.interval); whole < int64(next.full/next.interval) {
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
