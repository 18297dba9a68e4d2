package throttle

import (
	"fmt"

	"github.com/headrace/headrace/internal/invalid"
)

// Limits is what one resource allows; the zero Limits allow everything.
type Limits struct {
	Concurrency int      // the most calls in flight; 0 means unbounded
	Windows     []Window // all of them hold at the same time
}

// Validate joins all problems, each a *fault.FieldError.
func (l Limits) Validate() error {
	p := invalid.Problems{Owner: "throttle"}
	checkConcurrency(l.Concurrency, &p)
	for i, w := range l.Windows {
		if !w.sound() { // stores validate with every call: a valid window needs no field name
			w.check(fmt.Sprintf("Windows[%d]", i), &p)
		}
	}
	return p.Err()
}

func checkConcurrency(n int, p *invalid.Problems) {
	if n < 0 {
		p.Addf("Concurrency", "%d is negative: use 0 for unbounded, or at least 1", n)
	}
}
