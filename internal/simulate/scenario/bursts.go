package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/world"
)

const (
	burstsLast = time.Hour
	mostItems  = 200 // of a burst: more would be bound by the calls that may be in flight
)

// Bursts returns the i-th scenario of bursts, always the same for the same i: the i-th random provider, to which items come in bursts of
// up to 200. They take 5 to 70 % of what it allows at its lowest limit. Bursts are 20 s to 10 min apart, or less if 200 items take less
// than that.
func Bursts(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0xb0257), i} //nolint:gosec // any bits will do
	s := Random(i)
	every, load := d.LogUniform(20, 600), d.LogUniform(0.05, 0.7)
	each := load * s.lowest() / float64(s.Processes) // items per second of each process
	items := min(mostItems, max(1, math.Floor(each*every)))
	s.Bursts = client.Bursts{Items: int(items), Every: time.Duration(items / each * float64(time.Second))}
	s.Lasts = burstsLast
	s.Name = fmt.Sprintf("b%d", i)
	s.About = fmt.Sprintf("%d items each %.0f s, %s", s.Bursts.Items, s.Bursts.Every.Seconds(), s.About)
	return s
}

// lowest is how many calls per second the provider of a random scenario takes, at the lowest of its limits.
func (s *Scenario) lowest() float64 {
	p, trip := s.Provider, (s.Latency + 2*s.Net).Seconds()
	rate := p.Requests.PerMinute / 60
	switch {
	case p.Cap > 0:
		rate = float64(p.Cap) / trip
	case p.Minute > 0:
		rate = float64(p.Minute) / 60
	case s.Tokens:
		rate = p.Tokens.PerMinute / 60 / usualTokens
	}
	for _, c := range s.Changes {
		if c.Cap > 0 {
			rate = min(rate, float64(c.Cap)/trip)
		} else {
			rate *= min(1, c.Factor)
		}
	}
	return rate
}
