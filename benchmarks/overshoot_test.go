package benchmarks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/stretchr/testify/assert"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

const overshootLimit = 100 // per second

// A judged limiter allows overshootLimit per second, as closely as it can.
type judged struct {
	name string
	make func(t *testing.T) func() bool
	wall bool // it reads the system's clock past synctest
	most int  // what it promises in any second, 0 if nothing
}

func headraceJudged(w throttle.Window) func(t *testing.T) func() bool {
	return func(t *testing.T) func() bool {
		t.Helper()
		l := limiter(t, windows(w))
		return func() bool { return l.Allow(throttle.Cost{}) }
	}
}

func allJudged() []judged {
	return []judged{
		{name: "headrace", make: headraceJudged(throttle.Sliding(overshootLimit, time.Second)), most: overshootLimit},
		// A bucket and a calendar allow it: that is what they are.
		{name: "headrace-bucket", make: headraceJudged(throttle.Bucket(overshootLimit, overshootLimit)), most: 2 * overshootLimit},
		{name: "headrace-fixed", make: headraceJudged(throttle.Fixed(overshootLimit, time.Second, time.Time{})), most: 2 * overshootLimit},
		{name: "x-time-rate", make: func(*testing.T) func() bool {
			return rate.NewLimiter(overshootLimit, overshootLimit).Allow
		}},
		{name: "uber-ratelimit", make: func(*testing.T) func() bool {
			l := ratelimit.New(overshootLimit)
			return func() bool { return !l.Take().IsZero() }
		}},
		{name: "sethvargo-limiter", wall: true, make: func(t *testing.T) func() bool {
			t.Helper()
			s := sethvargoStore(t, overshootLimit, time.Second, 1)
			return func() bool {
				_, _, _, ok, _ := s.Take(t.Context(), "key")
				return ok
			}
		}},
		{name: "throttled", make: func(t *testing.T) func() bool {
			t.Helper()
			l := throttledLimiter(t, overshootLimit, time.Second, overshootLimit-1)
			return func() bool {
				limited, _, err := l.RateLimitCtx(t.Context(), "key", 1)
				return !limited && err == nil
			}
		}},
		{name: "failsafe-go", make: func(*testing.T) func() bool {
			return ratelimiter.NewBursty[any](overshootLimit, time.Second).TryAcquirePermit
		}},
		{name: "failsafe-go-smooth", make: func(*testing.T) func() bool {
			return ratelimiter.NewSmooth[any](overshootLimit, time.Second).TryAcquirePermit
		}},
	}
}

// TestOvershoot asks once, pauses, a different time in each run, asks for all
// there is at every millisecond, and counts the admissions of the worst second.
func TestOvershoot(t *testing.T) {
	pauses := []time.Duration{0, 500 * time.Millisecond, 900 * time.Millisecond, 995 * time.Millisecond}
	for _, j := range allJudged() {
		t.Run(j.name, func(t *testing.T) {
			if j.wall {
				onWallClock(t)
				note(t, "in-worst-second", float64(worst(hammer(j.make(t), 900*time.Millisecond), time.Second)))
				return
			}
			most, mostInPeriod := 0, 0
			for _, pause := range pauses {
				synctest.Test(t, func(t *testing.T) {
					// A bubble begins with a calendar second.
					admitted := hammer(j.make(t), pause)
					most = max(most, worst(admitted, time.Second))
					mostInPeriod = max(mostInPeriod, worstPeriod(admitted, time.Second))
				})
			}
			note(t, "in-worst-second", float64(most))
			if j.name == "headrace-fixed" {
				note(t, "in-worst-period", float64(mostInPeriod))
				assert.Equal(t, overshootLimit, mostInPeriod)
			}
			if j.most > 0 {
				assert.GreaterOrEqual(t, most, overshootLimit)
				assert.LessOrEqual(t, most, j.most)
			}
		})
	}
}

// hammer returns when try admitted within three seconds, as the time since it
// began.
func hammer(try func() bool, pause time.Duration) (admitted []time.Duration) {
	start := time.Now()
	if try() {
		admitted = append(admitted, 0)
	}
	time.Sleep(pause)
	for time.Since(start) < 3*time.Second {
		for try() && time.Since(start) < 3*time.Second {
			admitted = append(admitted, time.Since(start))
		}
		time.Sleep(time.Millisecond)
	}
	return admitted
}

// worst is how many of the rising times lie in one interval of length per, its
// end excluded, wherever it begins.
func worst(times []time.Duration, per time.Duration) (most int) {
	first := 0
	for i, at := range times {
		for times[first] <= at-per {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// worstPeriod is worst over the intervals that begin at multiples of per.
func worstPeriod(times []time.Duration, per time.Duration) (most int) {
	in := make(map[time.Duration]int)
	for _, at := range times {
		in[at/per]++
		most = max(most, in[at/per])
	}
	return most
}

func TestWorst(t *testing.T) {
	assert.Equal(t, 0, worst(nil, 10))
	assert.Equal(t, 1, worst([]time.Duration{0, 10, 20}, 10), "the end of the interval is excluded")
	assert.Equal(t, 2, worst([]time.Duration{0, 9, 18}, 10))
	assert.Equal(t, 3, worst([]time.Duration{0, 8, 12, 17, 18}, 10))
	assert.Equal(t, 2, worstPeriod([]time.Duration{0, 8, 12, 17, 28}, 10))
}
