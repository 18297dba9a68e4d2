package flowtest

import (
	"iter"
	"time"
)

// InOrder yields items a nanosecond apart, for Stream or a Prep: in a bubble, workers then queue at a
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
