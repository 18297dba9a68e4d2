package goodput

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// pool is retryPool in the simulator: workers that keep their item while they
// wait, for as long as failsafe-go's policy says.
type pool struct {
	busy   int
	chance world.Chance
}

func newPool(s client.Seat) (client.Policy, error) {
	return &pool{chance: world.NewChance(s.Seed, 0)}, nil
}

// Admit implements client.Policy.
func (p *pool) Admit(_ time.Duration, c *client.Call, _ int) time.Duration {
	if c.Refusals > 0 || p.busy < poolWorkers {
		return 0
	}
	return client.Forever
}

// Slack implements client.Policy.
func (p *pool) Slack(time.Duration) {}

// Sent implements client.Policy.
func (p *pool) Sent(_ time.Duration, c *client.Call) {
	if c.Refusals == 0 {
		p.busy++
	}
}

// Answered implements client.Policy.
func (p *pool) Answered(_ time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	if a.Admitted {
		p.busy--
		return 0, false
	}
	backoff = a.RetryAfter
	if backoff == 0 {
		backoff = time.Duration(min(float64(longestWait), float64(firstBackoff)*math.Pow(2, float64(c.Refusals-1))))
	}
	return time.Duration(float64(backoff) * (1 + backoffJitter*(2*p.chance.Float64()-1))), true
}
