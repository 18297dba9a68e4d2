package quotatest

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// testLimitsChange: the latest limits hold, whichever caller stated them, and history is kept.
func testLimitsChange(w *watch) {
	for name, lim := range map[string]limits{
		"sliding": requests(sliding, 4, long),
		"bucket":  requests(bucket, 4, short),
		"fixed":   requests(fixed, 4, long),
	} {
		d := demand{key: name, limits: lim}
		w.drain(3, 0, d)
		d.limits = lim.withMax(2) // lowered: nothing goes
		w.drain(2, 0, d)
		d.limits = lim.withMax(6) // raised: what was taken still counts
		w.drain(5, 0, d)
		w.s.Pass(long)
		d.limits = lim.withMax(1)
		w.drain(3, 0, d)
		w.s.Pass(long)
		d.limits = lim
		w.drain(6, 0, d)
	}
	d := demand{key: "slots", limits: slots(1)}
	first := w.take(forGood, d)
	d.limits = slots(3)
	w.drain(3, forGood, d)
	d.limits = slots(2)
	w.take(forGood, d)
	w.end(first.Ticket, nil)
	w.take(forGood, d)
}

// testPeriodsChange: a sliding window knows as much as it remembered before, a
// calendar counts what its period held until the new one ends, and a bucket
// keeps the units that were left, whatever the rate.
func testPeriodsChange(w *watch) {
	for name, a := range map[string]algorithm{"sliding": sliding, "fixed": fixed} {
		of := func(n int64, per time.Duration) demand { return demand{key: name, limits: requests(a, n, per)} }
		w.drain(2, 0, of(3, long))
		w.drain(3, 0, of(3, 4*long)) // longer
		w.s.Pass(long)
		w.take(0, of(3, 4*long))
		w.drain(5, 0, of(5, 4*long))
		w.s.Pass(short)
		w.drain(9, 0, of(4, short)) // shorter
		w.s.Pass(short)
		w.drain(9, 0, of(6, 2*long)) // and longer: what was forgotten does not come back
		w.s.Pass(short)
		w.drain(9, 0, of(8, 150*time.Millisecond))
		w.s.Pass(2 * long)
		w.drain(9, 0, of(3, long))
	}
	rate := func(perSec, burst int64) demand {
		return demand{key: "bucket", limits: limits{windows: []spec{perSecond(perSec, burst)}}}
	}
	w.drain(9, 0, rate(20, 6))
	w.drain(2, 0, rate(100, 6)) // faster
	w.s.Pass(25 * time.Millisecond)
	w.drain(9, 0, rate(100, 6))
	w.drain(2, 0, rate(3, 6)) // slower
	w.s.Pass(short)
	w.take(0, rate(3, 6))
	w.drain(9, 0, rate(40, 9))
	w.s.Pass(short)
	w.drain(9, 0, rate(80, 4))
}

// testForgotten: a call that a window has forgotten has nothing to get back from
// the longer window that replaces it, only from those that still count it.
func testForgotten(w *watch) {
	const most, longer = 2000, 10 * forGood // one sub-slot of the longer window holds both calls
	for name, a := range map[string]algorithm{"sliding": sliding, "fixed": fixed} {
		of := func(n int64, per time.Duration) demand {
			return demand{name, limits{windows: []spec{
				newSpec(a, throttle.Requests, most, per),
				newSpec(sliding, throttle.Points, 9, forGood), // without it the key is forgotten
			}}, throttle.Cost{Requests: n, Points: 1}}
		}
		w.s.Pass(short)
		forgotten := w.take(0, of(most/2, short)).Ticket
		w.passUntil(forgotten.At + int64(short+short/100))
		counted := w.take(0, of(most, short)).Ticket
		w.take(0, of(1, longer))
		w.cancel(forgotten)
		w.take(0, of(1, longer))
		if counted.ID != "" {
			w.end(counted, []throttle.Cost{{Requests: most / 2, Points: 1}})
		}
		w.take(0, of(most/2, longer))
		w.take(0, of(1, longer))
	}
}

// testWindowsChange: windows come and go and change places, and each that
// stays has its own history. One of another unit begins with none.
func testWindowsChange(w *watch) {
	calls := newSpec(sliding, throttle.Requests, 4, long)
	tokens := newSpec(bucket, throttle.Tokens, 20, short)
	points := newSpec(fixed, throttle.Points, 9, long)
	output := newSpec(sliding, throttle.OutputTokens, 5, 2*long)
	of := func(windows ...spec) demand {
		return demand{"a", limits{windows: windows}, throttle.Cost{Points: 2, Input: 3, Output: 1}}
	}
	w.take(0, of(calls, tokens))
	w.take(0, of(tokens, calls)) // in other places
	w.take(0, of(points, calls, tokens))
	w.peek(of(calls))
	w.drain(3, 0, of(calls, points)) // without tokens
	w.s.Pass(long)
	w.drain(2, 0, of(points, output, calls))
	w.drain(3, 0, of(output, points))
	w.s.Pass(short)
	w.drain(9, 0, of(tokens, output, calls, points))
	w.drain(9, 0, of(output, tokens))
	w.s.Pass(long)
	w.drain(9, 0, of(calls, tokens))
	w.take(0, demand{key: "a"}) // unlimited
	w.drain(9, 0, of(points))
}
