package run

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
)

// patience is how long a pipe may have no other end before the run says that it waits. The other program of a command
// line is usually there within milliseconds.
const patience = time.Second

// unless calls open, which may wait for the other end of a pipe, and returns early if
// ctx ends. A file that open returns after that is closed. late is called if open takes longer than the patience.
func unless[T io.Closer](ctx context.Context, late func(), open func() (T, error)) (T, error) {
	type opened struct {
		it  T
		err error
	}
	done := make(chan opened, 1)
	go func() {
		it, err := open()
		done <- opened{it, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			return o.it, o.err
		case <-timer.C:
			late()
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
}

// waitsFor says that path has no other end yet, if it is a pipe.
func (j *Job) waitsFor(doing, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		j.say(fmt.Sprintf("headrace: waiting for another program %s %s", doing, path))
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
