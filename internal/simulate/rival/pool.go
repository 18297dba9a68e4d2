package rival

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// window is how many items may be worked on at a time, backing off included.
type window interface {
	most() int
	// sample tells of one answered attempt: how long it took, and how many
	// calls were on the wire when it left, itself included.
	sample(now, took time.Duration, inFlight int, refused bool)
}

// pool is a pool of workers. A worker that was refused backs off with its item in hand.
type pool struct {
	window
	busy   int
	chance world.Chance
}

func newPool(seed uint64, w window) *pool {
	return &pool{window: w, chance: world.NewChance(seed, sdkStream)}
}

// The streams of chance in one policy.
const (
	sdkStream = iota
	probeStream
)

// Admit implements client.Policy.
func (p *pool) Admit(_ time.Duration, c *client.Call, _ int) time.Duration {
	if c.Refusals > 0 || p.busy < p.most() {
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
func (p *pool) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	p.sample(now, now-c.SentAt, c.Others+1, !a.Admitted)
	if a.Admitted {
		p.busy--
		return 0, false
	}
	return sdkBackoff(c.Refusals, a.RetryAfter, p.chance), true
}

// Gauge implements client.Gauged.
func (p *pool) Gauge() client.Gauge { return client.Gauge{Window: float64(p.most())} }

// sdkBackoff is the rule of the SDKs of OpenAI and Anthropic: Retry-After if it
// is below a minute, else half a second that doubles up to 8 s, less up to a quarter.
func sdkBackoff(refusals int, retryAfter time.Duration, chance world.Chance) time.Duration {
	if retryAfter > 0 && retryAfter < time.Minute {
		return retryAfter
	}
	d := min(8, 0.5*math.Pow(2, float64(refusals-1)))
	return time.Duration(d * (1 - 0.25*chance.Float64()) * float64(time.Second))
}

// fixed is a pool that knows nothing.
type fixed int

func (f fixed) most() int                                      { return int(f) }
func (f fixed) sample(time.Duration, time.Duration, int, bool) {}
