package rival

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// inspectAI is AdaptiveConcurrencyController of UKGovernmentBEIS/inspect_ai
// (src/inspect_ai/util/_concurrency.py at 05f2212, the default since 0.3.221):
// slow start doubles per clean round, then 5 % a round, x0.8 per episode, 15 s
// of cooldown or Retry-After. A success after a retry is neutral.
type inspectAI struct {
	*pool
	size, successes int
	retried         bool
	until           time.Duration // of the cooldown
}

const (
	inspectLeast    = 4 // successes of a round
	inspectCut      = 0.8
	inspectGrowth   = 0.05
	inspectCooldown = 15 * time.Second
)

func newInspectAI(s client.Seat) (client.Policy, error) {
	i := &inspectAI{size: 20}
	i.pool = newPool(s.Seed, i)
	return i, nil
}

func (i *inspectAI) most() int                                      { return i.size }
func (i *inspectAI) sample(time.Duration, time.Duration, int, bool) {}

// Answered implements client.Policy.
func (i *inspectAI) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	if a.Admitted {
		i.busy--
		if c.Refusals == 0 && now >= i.until {
			i.success()
		}
		return 0, false
	}
	i.successes, i.retried = 0, true
	if now >= i.until {
		i.size = max(1, floorNice(int(float64(i.size)*inspectCut)))
		i.until = now + max(inspectCooldown, a.RetryAfter)
	} else if a.RetryAfter > 0 {
		i.until = max(i.until, now+a.RetryAfter)
	}
	return sdkBackoff(c.Refusals, a.RetryAfter, i.chance), true
}

func (i *inspectAI) success() {
	if i.successes++; i.successes < max(i.size, inspectLeast) {
		return
	}
	i.successes = 0
	grown := 2 * i.size
	if i.retried {
		grown = ceilNice(i.size + max(1, int(math.Round(float64(i.size)*inspectGrowth))))
	}
	i.size = min(grown, mostWorkers)
}

// From ten on it keeps to multiples of five.
func ceilNice(v int) int {
	if v < 10 {
		return max(1, v)
	}
	return (v + 4) / 5 * 5
}

func floorNice(v int) int {
	if v < 10 {
		return max(1, v)
	}
	return v / 5 * 5
}
