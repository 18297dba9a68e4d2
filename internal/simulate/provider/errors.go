package provider

import (
	"math/rand/v2"
	"time"
)

// Status is what kind of rejection a client sees.
type Status uint8

const (
	// TooMany is a 429.
	TooMany Status = iota
	// Full is a 529: the service is overloaded.
	Full
	// Unavailable is a 503. With Retry-After it means an overload, without it anything.
	Unavailable
)

// Manner is what a rejection looks like that no rate calls for.
type Manner struct {
	Status Status
	After  time.Duration // its Retry-After; 0: absent
}

func (m Manner) answer() Answer { return Answer{Status: m.Status, RetryAfter: m.After} }

// Errors are rejections that no limit calls for: a share of all calls, always
// or in episodes.
type Errors struct {
	Manner
	Share float64       // of the calls; from 1 on nothing gets through
	From  time.Duration // when they begin
	For   time.Duration // how long an episode lasts; 0: for ever
	Most  time.Duration // if it is longer than For, episodes last between the two
	Every time.Duration // how long is between episodes, give or take half of it; 0: there is one
}

// blocks reports whether no call gets through e, so that waiting is the only way.
func (e *Errors) blocks() bool { return e.Share >= 1 }

// fault is the state of Errors. When its episodes are depends on the seed of
// the world alone, not on the calls.
type fault struct {
	Errors
	from, until time.Duration // the episode that is or comes next
	plan        *rand.Rand
}

func newFault(e Errors, luck *rand.Rand) fault {
	f := fault{Errors: e, from: e.From, until: e.From}
	if e.Every == 0 {
		f.until = e.From + e.For
		return f
	}
	f.plan = rand.New(rand.NewPCG(luck.Uint64(), luck.Uint64())) //nolint:gosec // repeatable on purpose
	f.next()
	return f
}

// next draws the episode after this one.
func (f *fault) next() {
	f.from = f.until + time.Duration((0.5+f.plan.Float64())*float64(f.Every))
	f.until = f.from + f.For
	if f.Most > f.For {
		f.until += time.Duration(f.plan.Float64() * float64(f.Most-f.For))
	}
}

// left is how long the episode still lasts; 0: there is none now.
func (f *fault) left(now time.Duration) time.Duration {
	for f.Every > 0 && now >= f.until {
		f.next()
	}
	switch {
	case now < f.from:
		return 0
	case f.For == 0:
		return Forever
	default:
		return max(0, f.until-now)
	}
}

// strike returns the error that hits a call now, or nil.
func (p *Provider) strike(now time.Duration) *Errors {
	for i := range p.faults {
		f := &p.faults[i]
		if f.left(now) > 0 && (f.blocks() || p.luck.Float64() < f.Share) {
			return &f.Errors
		}
	}
	return nil
}

// Lucky returns c without the errors that depend on chance alone. A sender that
// foresees everything sends only the calls that these errors spare.
func (c *Config) Lucky() Config {
	var all []Errors
	for _, e := range c.Errors {
		if e.blocks() {
			all = append(all, e)
		}
	}
	lucky := *c
	lucky.Errors = all
	return lucky
}
