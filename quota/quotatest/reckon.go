package quotatest

import (
	"math"
	"slices"
	"time"

	"github.com/headrace/headrace/throttle"
)

// grain is by how much the store may let a call go too late: sliding windows may
// be counted in slots, and a rate need not be a whole number of nanoseconds for
// each unit.
func (b *book) grain(w spec, v view) int64 {
	switch {
	case v == lenient:
	case w.algorithm == sliding && b.slots > 0:
		return int64(w.per) / b.slots
	case w.algorithm == sliding && w.max > 1024:
		return int64(w.per / 1024)
	case w.algorithm == bucket && int64(w.per)%w.rate != 0:
		return int64(time.Microsecond)
	}
	return 0
}

// wait is how long until n units fit into the window w, if nothing else happens.
func (b *book) wait(w spec, now, n int64, v view) int64 {
	switch {
	case n == 0:
		return 0
	case w.algorithm == bucket:
		over := b.missing(w.unit, now, v) - (w.max-n)*int64(w.per)
		return max(0, ceil(over, w.rate)+b.grain(w, v))
	case w.algorithm == fixed:
		sum, until := b.period(w.unit, now, v)
		if sum+n <= w.max {
			return 0
		}
		return until - now
	}
	return b.slides(w, now, n, v)
}

// ceil is a/b, rounded up.
func ceil(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}

// slides is wait for a sliding window.
func (b *book) slides(w spec, now, n int64, v view) int64 {
	events, _ := b.remembered(w.unit, v)
	ends := []int64{now}
	for _, e := range events {
		if end := e.at.in(v) + int64(w.per) + b.grain(w, v); end > now {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	for _, t := range ends {
		if b.sum(w, t, v)+n <= w.max {
			return t - now
		}
	}
	return int64(throttle.Forever)
}

// sum is what the sliding window w holds at t.
func (b *book) sum(w spec, t int64, v view) (sum int64) {
	events, since := b.remembered(w.unit, v)
	for _, e := range events {
		if at := e.at.in(v); at > since && t-at < int64(w.per)+b.grain(w, v) {
			sum += e.left[w.unit]
		}
	}
	return sum
}

// spent is how many units count against the window w at now.
func (b *book) spent(w spec, now int64, v view) int64 {
	switch w.algorithm {
	case bucket:
		return ceil(b.missing(w.unit, now, v), int64(w.per))
	case fixed:
		sum, _ := b.period(w.unit, now, v)
		return sum
	default:
		return b.sum(w, now, v)
	}
}

// remembered is what may count in the sliding window of u: events since the key
// has one, and not what was forgotten before the window became longer.
func (b *book) remembered(u throttle.Unit, v view) (events []event, since int64) {
	w, ok := b.first.of(u)
	from, since := 0, int64(math.MinInt64)
	for i, e := range b.events {
		if e.to == nil {
			continue
		}
		if ok {
			since = max(since, e.at.in(!v)-int64(w.per)-b.grain(w, v))
		} else {
			from = i
		}
		w, ok = e.to.of(u)
	}
	return b.events[from:], since
}

// period is what the fixed window of u holds at now, and until when. Of a
// period that was made shorter or longer, what it held counts until the new one ends.
func (b *book) period(u throttle.Unit, now int64, v view) (sum, until int64) {
	w, ok := b.first.of(u)
	until = math.MinInt64
	roll := func(t int64) {
		if ok && t >= until {
			sum, until = 0, w.ends(b.epoch, t)
		}
	}
	for _, e := range b.events {
		if e.to == nil {
			roll(e.at.in(v))
			sum += e.left[u]
			continue
		}
		to, has := e.to.of(u)
		if !ok {
			sum = 0
		}
		if has && to.per != w.per {
			roll(e.at.in(!v)) // the other way: it may have ended before, or not
			until = to.ends(b.epoch, e.at.in(v))
		}
		w, ok = to, has
	}
	roll(now)
	return sum, until
}

// slows says whether e has the bucket w of u refill more slowly from then on.
func (b *book) slows(e event, u throttle.Unit, w spec) bool {
	if e.to == nil {
		return false
	}
	to, ok := e.to.of(u)
	return ok && to.rate < w.rate
}

// missing is what the bucket of u lacks to be full, a unit counted as its per.
func (b *book) missing(u throttle.Unit, now int64, v view) (missing int64) {
	w, ok := b.first.of(u)
	last := int64(0)
	for _, e := range b.events {
		at := min(e.at.in(v), now) // what happens right now is not over yet
		if b.slows(e, u, w) {
			at = e.at.in(!v) // to be lenient: as late as can be
		}
		missing, last = refilled(missing, at-last, w.rate), max(at, last)
		n := e.left[u]
		if v == strict && !b.refunds {
			n = e.reserved[u]
		}
		missing += n * int64(w.per)
		if e.to == nil {
			continue
		}
		to, has := e.to.of(u)
		switch {
		case !ok:
			missing = 0
		case missing > 0 || v == strict: // else it may have been forgotten, and begin full
			missing = max(0, missing+(to.max-w.max)*int64(w.per))
		}
		w, ok = to, has
	}
	return refilled(missing, now-last, w.rate)
}

// refilled is what of missing is left after d nanoseconds. Instants may count
// from 1970, so that their product with a rate would overflow.
func refilled(missing, d, rate int64) int64 {
	switch {
	case d <= 0 || rate == 0:
		return missing
	case d >= ceil(missing, rate):
		return 0
	}
	return missing - d*rate
}
