package questions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

const (
	keyPrefix     = "question-"
	progressEvery = time.Second
	reads         = 3 // of a stream that breaks off
)

// MaxTokens is how long an answer may be; most are shorter.
const MaxTokens = 200

// Ask makes one call.
type Ask func(ctx context.Context, q Question) (Answer, error)

// Question is what a call asks.
type Question struct {
	// Key is the call's name, by which the provider's ledger knows it. With it as
	// the Idempotency-Key the transport may also send again what has failed and was
	// no refusal. An answer that is paid for twice is better here than none.
	Key  string
	Text string
}

// Answer is what came back.
type Answer struct {
	Tokens int64
	Broken bool // it was a stream that broke off in the middle, and its reader may ask again
}

// Run is one run of a program.
type Run struct {
	Settings

	Limiters      *registry.Registry   // the limiter to report
	Provider      *providertest.Server // nil: the real service
	Out, Progress io.Writer

	began                time.Time
	done, tokens, broken atomic.Int64

	mu     sync.Mutex // guards failed
	failed []error
}

// Do makes all calls, a few at a time, and tells what came of it. Its error
// says that a call failed, was lost or done twice, or why the run ended early.
func (r *Run) Do(ctx context.Context, ask Ask) error {
	r.began = time.Now()
	var calls, news sync.WaitGroup
	over := make(chan struct{})
	news.Go(func() { r.tell(over) })
	var next atomic.Int64
	for range r.Parallel {
		calls.Go(func() {
			for n := int(next.Add(1)); n <= r.Calls && ctx.Err() == nil; n = int(next.Add(1)) {
				r.note(n, r.answer(ctx, ask, n))
			}
		})
	}
	calls.Wait()
	close(over)
	news.Wait()
	return r.report(context.Cause(ctx))
}

// answer asks the nth question, and asks again when a stream breaks off: only
// the reader of the stream can decide what to do with the first half.
func (r *Run) answer(ctx context.Context, ask Ask, n int) (err error) {
	q := Question{
		Key:  key(n),
		Text: fmt.Sprintf("Question %d: how does the water get from the river to the wheel of a mill? Be brief.", n),
	}
	for range reads {
		var a Answer
		a, err = ask(ctx, q)
		r.tokens.Add(a.Tokens)
		if err == nil || !a.Broken || ctx.Err() != nil {
			return err
		}
		r.broken.Add(1)
	}
	return err
}

// note writes down how a call ended.
func (r *Run) note(n int, err error) {
	r.done.Add(1)
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Errorf("%s: %w", key(n), err))
}

// tell prints how far it is, until over.
func (r *Run) tell(over <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-ticker.C:
			fmt.Fprintf(r.Progress, "%5.0f s  %d of %d", now.Sub(r.began).Seconds(), r.done.Load(), r.Calls)
			for _, g := range r.Limiters.All() {
				fmt.Fprint(r.Progress, "; ", g.Stats().Why)
			}
			fmt.Fprintln(r.Progress)
		}
	}
}

// failures is what the callers saw, at most three of them by name.
func (r *Run) failures() error {
	if len(r.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed: %w", len(r.failed), r.Calls, errors.Join(r.failed[:min(3, len(r.failed))]...))
}

func key(n int) string { return fmt.Sprintf("%s%03d", keyPrefix, n) }
