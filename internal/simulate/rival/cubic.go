package rival

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// cubic is the adaptive retry mode of the AWS SDKs over a pool of workers:
// from the first refusal on a token bucket paces the calls, at a rate that
// follows CUBIC. It does not read Retry-After, only the retry does.
type cubic struct {
	workers, busy int
	chance        world.Chance

	enabled    bool
	level      float64
	capacity   float64
	rate       float64 // of the bucket, per second
	refilled   time.Duration
	measured   float64 // sends per second, smoothed
	counted    int
	bin        time.Duration // start of the half second that is counted
	lastMax    float64       // the rate at the last refusal
	lastHit    time.Duration
	calculated float64
}

const (
	cubicBeta   = 0.7
	cubicScale  = 0.4
	cubicSmooth = 0.8
	cubicBin    = 500 * time.Millisecond
	cubicLeast  = 0.5 // calls per second
)

func newCubic(s client.Seat) (client.Policy, error) {
	return &cubic{workers: s.Pool, chance: world.NewChance(s.Seed, sdkStream), refilled: s.Start, bin: s.Start.Truncate(cubicBin)}, nil
}

// Admit implements client.Policy.
func (u *cubic) Admit(now time.Duration, c *client.Call, _ int) time.Duration {
	if c.Refusals == 0 && u.busy >= u.workers {
		return client.Forever
	}
	if !u.enabled {
		return 0
	}
	u.refill(now)
	if u.level >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1 - u.level) / u.rate * 1e9))
}

// Slack implements client.Policy.
func (u *cubic) Slack(time.Duration) {}

// Sent implements client.Policy.
func (u *cubic) Sent(_ time.Duration, c *client.Call) {
	if c.Refusals == 0 {
		u.busy++
	}
	if u.enabled {
		u.level--
	}
}

// Answered implements client.Policy.
func (u *cubic) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	u.count(now)
	if a.Admitted {
		u.busy--
		u.calculated = u.curve(now)
	} else {
		u.hit(now)
		backoff, keep = sdkBackoff(c.Refusals, a.RetryAfter, u.chance), true
	}
	u.refill(now)
	r := min(u.calculated, 2*u.measured)
	u.rate, u.capacity = max(r, cubicLeast), max(r, 1)
	u.level = min(u.level, u.capacity)
	return backoff, keep
}

// count measures the rate in bins of half a second.
func (u *cubic) count(now time.Duration) {
	u.counted++
	if bin := now.Truncate(cubicBin); bin > u.bin {
		rate := float64(u.counted) / (bin - u.bin).Seconds()
		u.measured = cubicSmooth*rate + (1-cubicSmooth)*u.measured
		u.counted, u.bin = 0, bin
	}
}

func (u *cubic) hit(now time.Duration) {
	u.lastMax = u.measured
	if u.enabled {
		u.lastMax = min(u.measured, u.rate)
	}
	u.lastHit, u.calculated, u.enabled = now, u.lastMax*cubicBeta, true
}

// curve is flat at the rate of the last refusal, and steep before and after.
func (u *cubic) curve(now time.Duration) float64 {
	back := math.Cbrt(u.lastMax * (1 - cubicBeta) / cubicScale)
	dt := (now - u.lastHit).Seconds() - back
	return cubicScale*dt*dt*dt + u.lastMax
}

func (u *cubic) refill(now time.Duration) {
	u.level = min(u.capacity, u.level+(now-u.refilled).Seconds()*u.rate)
	u.refilled = now
}

// Gauge implements client.Gauged.
func (u *cubic) Gauge() client.Gauge {
	g := client.Gauge{Window: float64(u.workers)}
	if u.enabled {
		g.Pace = u.rate
	}
	return g
}
