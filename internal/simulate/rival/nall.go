package rival

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// nall is the default controller of Nall.RateLimiting.Adaptive (.NET): a token
// bucket with a rate that is cut to 0.7 per throttle with 5 s of cooldown, and grows
// by 120 a minute (for all instances, of a configured number) every 10 s in
// which calls waited; Retry-After pauses all. It starts at 600 a minute.
type nall struct {
	instances    float64
	rate         float64 // per second
	level        float64
	at           time.Duration // of the level
	changed, cut time.Duration
	gate         time.Duration
	waited       bool
	chance       world.Chance
}

const (
	nallStart, nallLeast, nallMost = 10, 1, 200 // calls per second, of all instances
	nallStep                       = 2
	nallCut                        = 0.7
	nallCooldown                   = 5 * time.Second
	nallEvery                      = 10 * time.Second
)

func newNall(s client.Seat) (client.Policy, error) {
	n := float64(s.Processes)
	return &nall{
		instances: n, rate: nallStart / n, level: 1, at: s.Start, changed: s.Start, cut: s.Start - nallCooldown,
		chance: world.NewChance(s.Seed, sdkStream),
	}, nil
}

func (u *nall) refill(now time.Duration) {
	u.level = min(max(1, u.rate), u.level+(now-u.at).Seconds()*u.rate)
	u.at = now
}

// Admit implements client.Policy.
func (u *nall) Admit(now time.Duration, _ *client.Call, _ int) time.Duration {
	u.refill(now)
	if now >= u.gate && u.level >= 1 {
		return 0
	}
	u.waited = true
	return max(u.gate-now, time.Duration(math.Ceil((1-u.level)/u.rate*1e9)))
}

// Slack implements client.Policy.
func (u *nall) Slack(time.Duration) {}

// Sent implements client.Policy.
func (u *nall) Sent(now time.Duration, _ *client.Call) {
	u.refill(now)
	u.level--
}

// Answered implements client.Policy.
func (u *nall) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	u.refill(now)
	if a.Admitted {
		if now-u.changed >= nallEvery && u.waited {
			u.rate, u.changed, u.waited = min(nallMost/u.instances, u.rate+nallStep/u.instances), now, false
		}
		return 0, false
	}
	if now-u.cut >= nallCooldown {
		u.rate, u.cut, u.changed = max(nallLeast/u.instances, nallCut*u.rate), now, now
	}
	u.gate = max(u.gate, now+a.RetryAfter)
	return sdkBackoff(c.Refusals, a.RetryAfter, u.chance), true
}

// Gauge implements client.Gauged.
func (u *nall) Gauge() client.Gauge { return client.Gauge{Pace: u.rate} }
