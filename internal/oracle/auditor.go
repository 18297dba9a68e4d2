package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Auditor judges a log while it is written. It is not safe for concurrent use:
// the writer of the log holds a lock anyway, or the order would mean nothing.
//
// An entry costs amortised constant time per rule. A window remembers the
// entries inside it. A bucket remembers its lows: at most one for each entry of
// the time in which it has only emptied. Concurrency needs a bit for each entry
// since the oldest call in flight.
type Auditor struct {
	meters []meter
	now    time.Duration
	entry  Entry // a copy that does not escape
	v      Verdict
}

// finding is what a meter says about an admission.
type finding struct {
	observed, allowed float64
	judged            bool // false: the rule has nothing to say about this entry
	over              bool // decided exactly, not from the two above
}

// meter is the state of one rule.
type meter interface {
	// step takes the entry i, which is not a Resize. Of is below i.
	step(i int, e *Entry) (finding, error)
	// resize changes the rule at the entry i to one of the same kind and unit.
	resize(i int, at time.Duration, to Rule) error
}

// NewAuditor judges by all of the rules. A rule that makes no sense is the
// verdict's Problem.
func NewAuditor(rules ...Rule) *Auditor {
	return newAuditor(rules, func(_ int, r Rule) (meter, error) {
		switch r.algorithm {
		case sliding:
			return newSlidingMeter(r), nil
		case bucket:
			return newBucketMeter(r), nil
		case fixed:
			return newFixedMeter(r), nil
		case concurrency:
			return &flightMeter{rule: r}, nil
		default:
			return &lineMeter{}, nil
		}
	})
}

func newAuditor(rules []Rule, newMeter func(int, Rule) (meter, error)) *Auditor {
	a := &Auditor{}
	for i, r := range rules {
		err := r.check()
		if err == nil {
			var m meter
			if m, err = newMeter(i, r); err == nil {
				a.meters = append(a.meters, m)
				a.v.Tallies = append(a.v.Tallies, Tally{Rule: r})
				continue
			}
		}
		a.complain(err)
		a.meters = append(a.meters, &lineMeter{deaf: true})
		a.v.Tallies = append(a.v.Tallies, Tally{Rule: r})
	}
	return a
}

// Add judges the next entry and returns its number, by which later ones refer
// to it. An entry that makes no sense is the verdict's Problem.
func (a *Auditor) Add(e Entry) int {
	i := a.v.Entries
	a.v.Entries++
	if e.At < a.now && i > 0 {
		a.complain(fmt.Errorf("oracle: entry %d at %s: the one before was at %s", i, e.At, a.now))
		e.At = a.now
	}
	a.now, a.entry = e.At, e
	if err := a.check(i); err != nil {
		a.complain(fmt.Errorf("oracle: entry %d at %s: %w", i, e.At, err))
		return i
	}
	if e.Kind == Resize {
		if err := a.meters[e.Of].resize(i, e.At, *e.To); err != nil {
			a.complain(err)
		}
		a.v.Tallies[e.Of].Rule = *e.To
		return i
	}
	for k, m := range a.meters {
		f, err := m.step(i, &a.entry)
		if err != nil {
			a.complain(fmt.Errorf("oracle: entry %d at %s: %w", i, e.At, err))
		}
		if f.judged {
			a.note(k, Reading{i, e.At, f.observed, f.allowed}, f.over)
		}
	}
	return i
}

func (a *Auditor) check(i int) error {
	e := &a.entry
	for _, n := range e.Weights {
		if n < 0 {
			return errors.New("a weight is negative")
		}
	}
	switch e.Kind {
	case Admission, Debit:
	case GiveBack, End:
		if e.Of < 0 || e.Of >= i {
			return fmt.Errorf("it refers to entry %d, which is not before it", e.Of)
		}
	case Resize:
		if e.Of < 0 || e.Of >= len(a.meters) || e.To == nil {
			return errors.New("it changes no rule")
		}
		if old := a.v.Tallies[e.Of].Rule; old.algorithm != e.To.algorithm || old.unit != e.To.unit {
			return fmt.Errorf("%q cannot become %q: begin another log", old, e.To)
		}
		return e.To.check()
	default:
		return fmt.Errorf("there is no kind %d", e.Kind)
	}
	return nil
}

func (a *Auditor) complain(err error) {
	if a.v.Problem == nil {
		a.v.Problem = err
	}
}

// maxKept is how many violations a verdict describes. All are counted.
const maxKept = 20

func (a *Auditor) note(rule int, r Reading, over bool) {
	t := &a.v.Tallies[rule]
	t.Judged++
	if over && r.Observed <= r.Allowed {
		r.Observed = math.Nextafter(r.Allowed, math.Inf(1)) // a float64 was too coarse to tell
	}
	if ratio := r.Ratio(); ratio > t.worst || over && t.Violations == 0 {
		t.worst, t.Worst = ratio, r
	}
	if !over {
		return
	}
	t.Violations++
	if len(a.v.Violations) < maxKept {
		a.v.Violations = append(a.v.Violations, Violation{r, t.Rule})
	}
}

// Verdict is how the rules were kept so far.
func (a *Auditor) Verdict() Verdict {
	v := a.v
	v.Tallies, v.Violations = slices.Clone(v.Tallies), slices.Clone(v.Violations)
	return v
}
