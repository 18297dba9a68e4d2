package flowtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// Provider simulates a service: Call is a function for Exec, and RoundTrip answers a client or an SDK.
//
// A call is answered by the first of these that applies: the steps For its key, the step At its
// number, the limits, then Otherwise, OtherwiseFunc or Behind, or else OK. Set them up before the
// first call. An invalid step panics with a *fault.FieldError.
type Provider struct {
	record   *Record
	name     string
	at       map[int]Step
	keys     map[string][]Step
	limits   []limit
	inFlight int // 0: any number
	rule     func(Call) Step
	behind   http.RoundTripper

	// Guarded by the record's lock.
	seq      int
	attempts map[string]int
	ended    map[string]time.Duration // the last call about a key
	played   map[int]bool
	admitted []time.Duration // the starts of the calls that were not refused
	open     []int           // of them, those that had not ended when it was asked last, as places in the record
}

// limit is a window of a hidden limit.
type limit struct {
	most int
	per  time.Duration
}

// NewProvider returns a provider that answers its first calls with steps, and then with OK. Its name
// must be unique in the Record.
func (r *Record) NewProvider(name string, steps ...Step) *Provider {
	p := &Provider{
		record: r, name: name, at: map[int]Step{}, keys: map[string][]Step{},
		attempts: map[string]int{}, ended: map[string]time.Duration{}, played: map[int]bool{},
	}
	r.mu.Lock()
	taken := slices.ContainsFunc(r.providers, func(o *Provider) bool { return o.name == name })
	r.providers = append(r.providers, p)
	r.mu.Unlock()
	p.must(func(problems *invalid.Problems) {
		switch {
		case name == "":
			problems.Addf("name", "it is empty: the timeline needs one")
		case taken:
			problems.Addf("name", "there is already a provider of that name")
		}
	})
	return p.At(1, steps...)
}

// At answers the n-th call, counted from 1 over all keys, with the first step, the next call with the
// second, and so on.
func (p *Provider) At(n int, steps ...Step) *Provider {
	p.must(func(problems *invalid.Problems) {
		if n < 1 {
			problems.Addf("At", "%d is below 1, which is the first call", n)
		}
		for i, s := range steps {
			where := fmt.Sprintf("At(%d)", n+i)
			if _, taken := p.at[n+i]; taken {
				problems.Addf(where, "that call already has a step")
			}
			s.check(problems, where)
			p.at[n+i] = s
		}
	})
	return p
}

// For answers the calls with that key with steps, one after the other. Repeat it to add more.
func (p *Provider) For(key string, steps ...Step) *Provider {
	p.must(func(problems *invalid.Problems) {
		for _, s := range steps {
			s.check(problems, fmt.Sprintf("For(%q)", key))
		}
		p.keys[key] = append(p.keys[key], steps...)
	})
	return p
}

// Limit rejects a call that would exceed most in any span of that length, with the exact Retry-After.
// Rejected calls do not count.
func (p *Provider) Limit(most int, per time.Duration) *Provider {
	p.must(func(problems *invalid.Problems) {
		if most < 1 || per <= 0 {
			problems.Addf("Limit", "%d in %s is not a limit: both have to be positive", most, per)
		}
		p.limits = append(p.limits, limit{most, per})
	})
	return p
}

// LimitInFlight rejects a call, without a Retry-After, while most others are in flight.
func (p *Provider) LimitInFlight(most int) *Provider {
	p.must(func(problems *invalid.Problems) {
		if most < 1 {
			problems.Addf("LimitInFlight", "%d is below 1", most)
		}
		p.inFlight = most
	})
	return p
}

// Otherwise answers all other calls with s.
func (p *Provider) Otherwise(s Step) *Provider {
	p.must(func(problems *invalid.Problems) { s.check(problems, "Otherwise") })
	p.rule = func(Call) Step { return s }
	return p
}

// OtherwiseFunc answers all other calls with the step that rule returns for the call at its start.
// Calls of rule do not overlap.
func (p *Provider) OtherwiseFunc(rule func(Call) Step) *Provider {
	p.must(func(problems *invalid.Problems) {
		if rule == nil {
			problems.Addf("OtherwiseFunc", "the function is nil")
		}
	})
	p.rule = func(c Call) Step {
		s := rule(c)
		p.must(func(problems *invalid.Problems) { s.check(problems, "OtherwiseFunc") })
		return s
	}
	return p
}

// must panics with what f finds.
func (p *Provider) must(f func(*invalid.Problems)) {
	problems := invalid.Problems{Owner: fmt.Sprintf("flowtest: provider %q", p.name)}
	f(&problems)
	if err := problems.Err(); err != nil {
		panic(err)
	}
}

// Calls returns the calls so far, in the order of their arrival.
func (p *Provider) Calls() Calls {
	return p.record.Calls().where(func(c Call) bool { return c.Provider == p.name })
}

// Call makes a call with that key. It returns the answer, a *StatusError, the error of FailWith, or
// the cause of ctx. It is an Exec for string items.
func (p *Provider) Call(ctx context.Context, key string) (answer string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	a := p.record.arrive(p, key)
	outcome, status := Panicked, 0
	defer func() { p.record.end(a, outcome, status, err) }()
	if err = a.run(ctx); err != nil {
		outcome = Canceled
		return "", err
	}
	outcome, status = a.step.outcome()
	return a.step.answer(key)
}
