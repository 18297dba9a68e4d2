package oracle

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Reading is what an admission brought a rule to.
type Reading struct {
	Entry int           // the number of the admission in the log
	At    time.Duration // when it was
	// Observed is the sum in the window, the bucket's level, the number of
	// calls in flight, or how many places were lost to others; itself included.
	Observed float64
	Allowed  float64
}

// Ratio is what was observed as a part of what was allowed.
func (r Reading) Ratio() float64 {
	if r.Observed == 0 {
		return 0
	}
	if r.Allowed == 0 {
		return math.Inf(1)
	}
	return r.Observed / r.Allowed
}

// Violation is an admission that broke a rule.
type Violation struct {
	Reading
	Rule Rule // as it was in force
}

// String describes the violation, such as
// "entry 10 at 900ms: 11, allowed 10: 10 requests in any 1s".
func (v Violation) String() string {
	return fmt.Sprintf("entry %d at %s: %.17g, allowed %.17g: %s", v.Entry, v.At, v.Observed, v.Allowed, v.Rule)
}

// Tally is how one rule was kept.
type Tally struct {
	Rule       Rule    // as it is in force at the end
	Judged     int     // admissions; 0 means that nothing was proven
	Violations int     // how many of them broke it
	Worst      Reading // the one with the highest Ratio, legal or not
	worst      float64
}

// Verdict is the result of judging a log.
type Verdict struct {
	Entries    int         // how long the log is
	Tallies    []Tally     // one for each rule, in their order
	Violations []Violation // the first 20, in the order of the log
	Problem    error       // the first thing that is wrong with the log or a rule itself
}

// Count is the number of violations of all rules.
func (v Verdict) Count() int {
	n := 0
	for _, t := range v.Tallies {
		n += t.Violations
	}
	return n
}

// Err is nil if the log is well-formed and no rule was broken. Else it tells
// all that String does.
func (v Verdict) Err() error {
	if v.Problem == nil && v.Count() == 0 {
		return nil
	}
	return errors.New(v.String())
}

// String is the verdict in a line for each rule and for each violation kept.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "oracle: %d violations in %d entries", v.Count(), v.Entries)
	if v.Problem != nil {
		fmt.Fprintf(&b, "\nnot to be trusted: %s", v.Problem)
	}
	for _, t := range v.Tallies {
		fmt.Fprintf(&b, "\n%s: %d violations in %d admissions, at worst %.6g of %.6g (%.4g) at %s",
			t.Rule, t.Violations, t.Judged, t.Worst.Observed, t.Worst.Allowed, t.Worst.Ratio(), t.Worst.At)
	}
	for _, x := range v.Violations {
		b.WriteString("\n" + x.String())
	}
	return b.String()
}
