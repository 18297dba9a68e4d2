package rival

import (
	"math"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// promptfoo is AdaptiveConcurrency of promptfoo (src/scheduler/adaptiveConcurrency.ts
// at 1187dcf): x0.5 per 429, x1.5 after 5 successes up to what the user said,
// x0.8 when the moving average of latency is 1.5 times the least of the last 20.
type promptfoo struct {
	*pool
	size, limit  int
	streak       int
	total, quiet int // successes, and until how many latency cuts no more
	average      float64
	recent       []float64
}

const (
	promptfooCut, promptfooSlow = 0.5, 0.8
	promptfooGrowth             = 1.5
	promptfooStreak             = 5
	promptfooRecent             = 20
	promptfooSmooth             = 0.2
	promptfooCongested          = 1.5
)

func newPromptfoo(s client.Seat) (client.Policy, error) {
	p := &promptfoo{size: s.Pool, limit: s.Pool}
	p.pool = newPool(s.Seed, p)
	return p, nil
}

func (p *promptfoo) most() int                                      { return p.size }
func (p *promptfoo) sample(time.Duration, time.Duration, int, bool) {}

// Answered implements client.Policy.
func (p *promptfoo) Answered(now time.Duration, c *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	if !a.Admitted {
		p.streak, p.recent, p.average = 0, p.recent[:0], 0
		p.size = max(1, int(float64(p.size)*promptfooCut))
		return sdkBackoff(c.Refusals, a.RetryAfter, p.chance), true
	}
	p.busy--
	p.total++
	switch congested := p.congested((now - c.SentAt).Seconds()); {
	case congested && p.size > 1 && p.total >= p.quiet:
		p.size = max(1, int(float64(p.size)*promptfooSlow))
		p.streak, p.quiet = 0, p.total+p.size
	case congested:
		p.streak = 0
	default:
		p.streak++
	}
	if p.streak >= promptfooStreak && p.size < p.limit {
		p.size, p.streak = min(p.limit, int(math.Ceil(float64(p.size)*promptfooGrowth))), 0
	}
	return 0, false
}

// congested notes how long a call took.
func (p *promptfoo) congested(took float64) bool {
	if p.recent = append(p.recent, took); len(p.recent) > promptfooRecent {
		p.recent = p.recent[1:]
	}
	if p.average == 0 {
		p.average = took
	}
	p.average += promptfooSmooth * (took - p.average)
	return p.average > promptfooCongested*slices.Min(p.recent)
}
