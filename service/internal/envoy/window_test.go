package envoy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// fixedWindow counts as envoyproxy/ratelimit does: from one full unit to the next, and
// also what it refuses.
type fixedWindow struct {
	per    int64
	period int64
	count  int
}

func (w *fixedWindow) admits(now time.Time, limit int) bool {
	if period := now.Unix() / w.per; period != w.period {
		w.period, w.count = period, 0
	}
	w.count++
	return w.count <= limit
}

// most is the most admissions within an interval of length per that begins with one.
func most(admitted []time.Time, per time.Duration) (n int) {
	for i, begin := range admitted {
		for j := i; j < len(admitted) && admitted[j].Sub(begin) < per; j++ {
			n = max(n, j-i+1)
		}
	}
	return n
}

// A client that sends all it can just before and just after a full unit gets twice the
// limit from fixed windows, and the limit here.
func TestNoOvershootAtTheEdgeOfAUnit(t *testing.T) {
	const limit = 50
	for unit, per := range map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
		"month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
	} {
		f := serve(t, fmt.Sprintf(`{domain: d, descriptors: [{key: user, rate_limit: {unit: %s, requests_per_unit: %d}}]}`, unit, limit))
		peer := fixedWindow{per: int64(per / time.Second)}
		edge := f.clock.Now().Truncate(time.Second)
		edge = edge.Add(per - time.Duration(edge.Unix()%peer.per)*time.Second)
		f.clock.Advance(edge.Sub(f.clock.Now()) - per/100)
		var ours, theirs []time.Time
		for range 2 {
			for range 2 * limit {
				now := f.clock.Now()
				if f.ask(request("d", "user=ann")).GetOverallCode() == ok {
					ours = append(ours, now)
				}
				if peer.admits(now, limit) {
					theirs = append(theirs, now)
				}
			}
			f.clock.Advance(per / 50)
		}
		assert.Equal(t, limit, most(ours, per), "%s: 1.00x", unit)
		assert.Equal(t, 2*limit, most(theirs, per), "%s: the model shows 2.00x", unit)
	}
}

// No trailing interval ever admits more hits than the limit, whatever is sent when, and
// what would fit is admitted.
func TestLimitsHoldInEveryInterval(t *testing.T) {
	type hit struct {
		at time.Time
		n  int64
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		f := serveRapid(t, fmt.Sprintf(`{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: %d}}]}`, limit))
		var log []hit
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			f.clock.Advance(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "pause")))
			r := request("d", "user=ann")
			n := rapid.Int64Range(1, 6).Draw(t, "hits")
			r.HitsAddend = uint32(n)
			var used int64
			for _, h := range log {
				if f.clock.Now().Sub(h.at) < time.Minute {
					used += h.n
				}
			}
			a, err := f.ShouldRateLimit(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			admitted := a.GetOverallCode() == ok
			if want := used+n <= limit; admitted != want {
				t.Fatalf("%d of %d used, %d hits: admitted is %t", used, limit, n, admitted)
			}
			if admitted {
				used += n
				log = append(log, hit{f.clock.Now(), n})
			}
			if left := int64(a.GetStatuses()[0].GetLimitRemaining()); left != limit-used {
				t.Fatalf("%d are left, not %d", limit-used, left)
			}
			if !admitted && n <= limit {
				// The wait is exact: not a nanosecond earlier.
				wait := a.GetStatuses()[0].GetDurationUntilReset().AsDuration()
				fits := func(after time.Duration) bool {
					var used int64
					for _, h := range log {
						if f.clock.Now().Add(after).Sub(h.at) < time.Minute {
							used += h.n
						}
					}
					return used+n <= limit
				}
				if fits(wait-1) || !fits(wait) {
					t.Fatalf("%d hits do not fit first in %s", n, wait)
				}
			}
		}
	})
}
