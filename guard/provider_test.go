package guard_test

import (
	"sync"
	"time"
)

// provider rejects calls above a hidden number in flight, and by a token bucket
// calls above a rate.
type provider struct {
	mu       sync.Mutex
	cap      int
	perToken time.Duration
	burst    int
	latency  time.Duration

	inFlight, most   int
	tokens           int
	refilled         time.Time
	served, rejected int
}

func (p *provider) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.refilled.IsZero() {
		p.refilled, p.tokens = now, p.burst
	}
	refill := int(now.Sub(p.refilled) / p.perToken)
	p.refilled = p.refilled.Add(time.Duration(refill) * p.perToken)
	p.tokens = min(p.burst, p.tokens+refill)
	switch {
	case p.inFlight >= p.cap:
		p.rejected++
		return &sdkError{Type: "concurrency", Response: answered().Response}
	case p.tokens == 0:
		p.rejected++
		return &sdkError{Type: "requests", Response: answered("Retry-After", "1").Response}
	}
	p.tokens--
	p.inFlight++
	p.most = max(p.most, p.inFlight)
	return nil
}

func (p *provider) call() error {
	if err := p.enter(); err != nil {
		return err
	}
	time.Sleep(p.latency)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.served++
	return nil
}
