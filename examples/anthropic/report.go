package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

// report prints the figures. Its error says that a call failed or that the
// provider saw something else than was asked for; interrupted is why the run ended early, or nil.
func (p *program) report(interrupted error) error {
	took := time.Since(p.began)
	fmt.Fprintf(p.out, "%d calls in %.1f s, %d failed, %d tokens\n", p.done.Load(), took.Seconds(), len(p.failed), p.tokens.Load())
	if n := p.broken.Load(); n > 0 {
		fmt.Fprintf(p.out, "%d streams broke off and were asked for again\n", n)
	}
	p.found()
	err := errors.Join(interrupted, p.failures())
	if p.provider == nil {
		return err
	}
	ledger := p.provider.Ledger()
	fmt.Fprintln(p.out, "the provider's ledger:")
	refused(p.out, "all", ledger)
	if first := p.began.Add(time.Minute); took > time.Minute {
		refused(p.out, "after the first minute", ledger.Between(first, time.Now()))
	}
	a := ledger.Audit(p.keys())
	fmt.Fprintf(p.out, "  %d served, %d lost, %d done twice\n", ledger.Served, len(a.Lost), len(a.Twice))
	if !a.OK() && interrupted == nil {
		err = errors.Join(err, fmt.Errorf("lost: %v, done twice: %v, unknown: %v, without a key: %d", a.Lost, a.Twice, a.Unknown, a.Keyless))
	}
	return err
}

// found prints where each limiter has come to, from what the preset says.
func (p *program) found() {
	for name, l := range p.limiters.All() {
		v, s := l.View(), l.Throttle().Stats()
		var paces []string
		for unit, pace := range v.Pace {
			if pace > 0 {
				paces = append(paces, fmt.Sprintf("%.1f %s/s", pace, throttle.Unit(unit)))
			}
		}
		fmt.Fprintf(p.out, "limiter %s: goes at %s, with %d in flight at most; %d refusals, %d cuts; %d waited, at most %.1f s\n",
			name, strings.Join(paces, " and "), v.Concurrency, v.Hits, v.Cuts, s.Waits, s.LongestWait.Seconds())
	}
}

func (p *program) keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := 1; n <= p.calls && yield(keyOf(n)); n++ {
		}
	}
}

// refused prints how many of the attempts were answered 429.
func refused(out io.Writer, when string, l providertest.Ledger) {
	share := 100 * float64(l.TooMany()) / float64(max(1, l.Arrivals))
	fmt.Fprintf(out, "  %s: %d attempts, %d answered 429 (%.1f %%)\n", when, l.Arrivals, l.TooMany(), share)
}
