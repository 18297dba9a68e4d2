package goodput

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// seat is a policy of the simulator in the place of a process of a real run: it
// begins when that one does, and gets what a [providertest.Server] reports.
// That is less precise than what the simulator reports, and differs in two
// points: the limit is what is possible at once, and the meters are read when
// the call ends.
type seat struct {
	client.Policy
	scenario   *Scenario
	provider   *provider.Provider
	start      time.Duration
	omniscient bool // it needs no report
}

// seated puts every process of c in such a place.
func (s *Scenario) seated(c client.Contender) client.Contender {
	create := c.New
	c.New = func(at client.Seat) (client.Policy, error) {
		at.Start = opening + time.Duration(at.Start.Nanoseconds()/joinSimulated.Nanoseconds())*joining
		p, err := create(at)
		return &seat{Policy: p, scenario: s, provider: at.Provider, start: at.Start, omniscient: c.Omniscient}, err
	}
	return c
}

// Admit implements client.Policy.
func (p *seat) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	if now < p.start {
		return p.start - now
	}
	return p.Policy.Admit(now, c, inFlight)
}

// Answered implements client.Policy.
func (p *seat) Answered(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (backoff time.Duration, keep bool) {
	if p.omniscient {
		return p.Policy.Answered(now, c, inFlight, a)
	}
	told := *a
	told.Tokens = provider.Meter{}
	window := p.scenario.Limits.Window
	if window.Max > 0 && a.RetryAfter > 0 {
		told.RetryAfter = wholeSeconds(untilTurn(window, c.SentAt+netSimulated))
	}
	if a.Requests.Known {
		told.Requests = p.peep(now)
	}
	return p.Policy.Answered(now, c, inFlight, &told)
}

// peephole is a limit on tokens, of which no call costs any.
func peephole() provider.Bucket { return provider.Bucket{PerMinute: 1, Burst: 1} }

// peep reads the meters without a call: one that costs more tokens than there
// can be is refused, told the state of things, and leaves no trace.
func (p *seat) peep(now time.Duration) provider.Meter {
	a, _ := p.provider.Arrive(now, 2*int64(peephole().Burst))
	m := a.Requests
	if f := p.scenario.Limits.Window; f.Max > 0 {
		m.Limit, m.Reset = int64(f.Max), 0
		if m.Remaining < m.Limit {
			m.Reset = untilTurn(f, now)
		}
	} else {
		m.Limit = int64(p.scenario.Limits.Rate.Burst)
	}
	return m
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
