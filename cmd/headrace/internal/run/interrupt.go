package run

import (
	"context"
	"io"
	"iter"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
)

// unless calls open, which may wait for the other end of a pipe, and returns early if
// ctx ends. A file that open returns after that is closed.
func unless[T io.Closer](ctx context.Context, open func() (T, error)) (T, error) {
	type opened struct {
		it  T
		err error
	}
	done := make(chan opened, 1)
	go func() {
		it, err := open()
		done <- opened{it, err}
	}()
	select {
	case o := <-done:
		return o.it, o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				_ = o.it.Close() // it came too late
			}
		}()
		var none T
		return none, context.Cause(ctx)
	}
}

// interruptible ends with ctx even while seq waits, for example for input from a terminal.
func interruptible(ctx context.Context, seq iter.Seq2[requests.Request, error]) iter.Seq2[requests.Request, error] {
	type read struct {
		q   requests.Request
		err error
	}
	return func(yield func(requests.Request, error) bool) {
		ctx, end := context.WithCancel(ctx)
		defer end()
		all := make(chan read)
		go func() {
			defer close(all)
			for q, err := range seq {
				select {
				case all <- read{q, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case one, ok := <-all:
				if !ok || !yield(one.q, one.err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
