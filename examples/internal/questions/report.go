package questions

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
func (r *Run) report(interrupted error) error {
	took := time.Since(r.began)
	fmt.Fprintf(r.Out, "%d calls in %.1f s, %d failed, %d tokens\n", r.done.Load(), took.Seconds(), len(r.failed), r.tokens.Load())
	if n := r.broken.Load(); n > 0 {
		fmt.Fprintf(r.Out, "%d streams broke off and were asked for again\n", n)
	}
	r.found()
	err := errors.Join(interrupted, r.failures())
	if r.Provider == nil {
		return err
	}
	ledger := r.Provider.Ledger()
	fmt.Fprintln(r.Out, "the provider's ledger:")
	refused(r.Out, "all", ledger)
	if first := r.began.Add(time.Minute); took > time.Minute {
		refused(r.Out, "after the first minute", ledger.Between(first, time.Now()))
	}
	a := ledger.Audit(r.keys())
	fmt.Fprintf(r.Out, "  %d served, %d lost, %d done twice\n", ledger.Served, len(a.Lost), len(a.Twice))
	if !a.OK() && interrupted == nil {
		err = errors.Join(err, fmt.Errorf("lost: %v, done twice: %v, unknown: %v, without a key: %d", a.Lost, a.Twice, a.Unknown, a.Keyless))
	}
	return err
}

// found prints what each guard has learned, starting from the preset.
func (r *Run) found() {
	for name, g := range r.Limiters.All() {
		s := g.Stats()
		v := s.View
		var paces []string
		for unit, pace := range v.Pace {
			if pace > 0 {
				paces = append(paces, fmt.Sprintf("%.1f %s/s", pace, throttle.Unit(unit)))
			}
		}
		fmt.Fprintf(r.Out, "limiter %s: rate %s, at most %d in flight; %d refusals, %d cuts; %d waited, at most %.1f s\n",
			name, strings.Join(paces, " and "), v.Concurrency, v.Hits, v.Cuts, s.Waits, s.LongestWait.Seconds())
	}
}

func (r *Run) keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := 1; n <= r.Calls && yield(key(n)); n++ {
		}
	}
}

// refused prints how many of the attempts were answered 429.
func refused(out io.Writer, when string, l providertest.Ledger) {
	share := 100 * float64(l.TooMany()) / float64(max(1, l.Arrivals))
	fmt.Fprintf(out, "  %s: %d attempts, %d answered 429 (%.1f %%)\n", when, l.Arrivals, l.TooMany(), share)
}
