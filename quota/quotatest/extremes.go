package quotatest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// testLargeAmounts: amounts of up to MaxAmount are counted in full, not in 32 bits.
func testLargeAmounts(w *watch) {
	for name, s := range map[string]spec{
		"sliding": newSpec(sliding, throttle.Tokens, throttle.MaxAmount, time.Hour),
		"bucket":  newSpec(bucket, throttle.Tokens, throttle.MaxAmount, time.Nanosecond),
		"fixed":   newSpec(fixed, throttle.Tokens, throttle.MaxAmount, time.Hour),
	} {
		of := func(n int64) demand {
			return demand{name, limits{windows: []spec{s}}, throttle.Cost{Tokens: n}}
		}
		w.take(0, of(throttle.MaxAmount/2))
		t := w.take(0, of(1<<32)).Ticket
		w.take(0, of(throttle.MaxAmount/2))
		w.take(0, of(throttle.MaxAmount/2-1<<32-7))
		w.take(0, of(throttle.MaxAmount))
		w.end(t, []throttle.Cost{{Tokens: throttle.MaxAmount}})
		w.take(0, of(throttle.MaxAmount-1))
		w.peek(of(1 << 32))
	}
}

// testLargeWindows: a sliding window too large to remember each call may let
// one go late by less than per/1024, but not early.
func testLargeWindows(w *watch) {
	for _, n := range []int64{1025, 30_000} {
		for i, per := range []time.Duration{short, long} {
			w.s.Pass(time.Duration(n) * 1237 * time.Nanosecond) // no multiple of any slot
			d := demand{fmt.Sprint(n, i), requests(sliding, n, per), throttle.Cost{Requests: 3*n/10 + 1}}
			for range 2 {
				w.take(0, d)
				w.s.Pass(per/9 + 1)
				w.cycle(3, d)
			}
		}
	}
}

// testRates: a unit need not refill in a whole number of milliseconds, or of
// nanoseconds. None comes early, and late by a microsecond at most.
func testRates(w *watch) {
	for _, rate := range []int64{3, 7, 333, 1501, 48_000} {
		d := demand{key: strconv.FormatInt(rate, 10), limits: limits{windows: []spec{perSecond(rate, 4)}}}
		two := d
		two.cost.Requests = 2
		w.cycle(5, d)
		w.cycle(3, two)
		w.cycle(5, d)
	}
}

// testLongHistory: what was taken, leased or cooled down long ago counts for as long as it has to, even if the key was not used
// in the meantime.
func testLongHistory(w *watch) {
	const hours = 20 * time.Hour
	all := []demand{
		{"sliding", requests(sliding, 2, hours), throttle.Cost{}},
		{"bucket", requests(bucket, 2, hours), throttle.Cost{}},
		{"fixed", requests(fixed, 2, 10*24*time.Hour), throttle.Cost{}},
		{"slots", slots(1), throttle.Cost{}},
		{"cold", limits{}, throttle.Cost{}},
	}
	w.leap(time.Second) // a store that cannot do this cannot do the rest
	var t quota.Ticket
	for _, d := range all[:4] {
		t = w.take(hours, d).Ticket
	}
	w.cool("cold", limits{}, hours)
	for _, d := range []time.Duration{61 * time.Second, 61 * time.Minute, 18 * time.Hour} {
		w.leap(d)
		for i := range 100 { // what others do gives a store occasion to tidy up
			w.take(0, demand{key: fmt.Sprint("other ", i), limits: requests(sliding, 1, short)})
		}
		for _, d := range all {
			w.peek(d)
		}
	}
	for _, d := range all {
		w.drain(2, hours, d)
	}
	w.end(t, nil)
	w.leap(hours)
	for _, d := range all {
		w.drain(3, hours, d)
	}
}
