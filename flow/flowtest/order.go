package flowtest

import (
	"iter"
	"time"
)

// InOrder gives items to Stream, or to the Prep of a batch, a nanosecond apart:
// in a bubble, when whoever has the others is waiting. So workers come to a
// limiter in the order of the items, in every run.
func InOrder[In any](items ...In) iter.Seq2[In, error] {
	return func(yield func(In, error) bool) {
		for i, item := range items {
			if i > 0 {
				settled := make(chan struct{})
				time.AfterFunc(tick, func() { close(settled) })
				<-settled
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}
