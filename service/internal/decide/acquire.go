package decide

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/service/internal/rules"
)

// mostWaiting bounds the Acquires that wait, in all lines together.
const mostWaiting = 10_000

// shortestPoll bounds how often the head of a line asks the store.
const shortestPoll = 5 * time.Millisecond

// lines are the Acquires that wait, those with the same keys behind each other. Only the
// head of a line asks the store.
type lines struct {
	mu      sync.Mutex // guards all below
	lines   map[string][]*waiter
	waiting int
}

type waiter struct{ first chan struct{} }

// join appends a waiter to a line. It is nil if too many wait.
func (l *lines) join(name string) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= mostWaiting {
		return nil
	}
	if l.lines == nil {
		l.lines = map[string][]*waiter{}
	}
	w := &waiter{make(chan struct{})}
	if len(l.lines[name]) == 0 {
		close(w.first)
	}
	l.lines[name] = append(l.lines[name], w)
	l.waiting++
	return w
}

// leave takes a waiter out of its line; if it was the first, the next one is.
func (l *lines) leave(name string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.lines[name]
	i := slices.Index(all, w)
	all = slices.Delete(all, i, i+1)
	l.waiting--
	switch {
	case len(all) == 0:
		delete(l.lines, name)
		return
	case i == 0:
		close(all[0].first)
	}
	l.lines[name] = all
}

// Acquire is CheckAll that waits for up to maxWait, which is at most MaxWait; 0 means not
// at all. Among the callers of this server with the same keys, the first is served first.
// It does not wait if what it asks for will not be there in time.
func (d *Decider) Acquire(ctx context.Context, cs []Check, maxWait time.Duration) (All, error) {
	began := d.clock.Elapsed()
	if maxWait < 0 || maxWait > MaxWait {
		d.Invalid(ctx)
		return none(), field("max_wait", "%s is not between 0 and %s", maxWait, MaxWait)
	}
	set, asks, err := d.asks(cs)
	if err != nil {
		d.Invalid(ctx)
		return none(), err
	}
	if cs[0].DryRun {
		return none(), field("checks[0].dry_run", "it cannot be acquired: check it instead")
	}
	a, err := d.acquire(ctx, set, asks, began+maxWait)
	d.observeAll(ctx, &a, asks, err, d.clock.Elapsed()-began)
	return a, err
}

func (d *Decider) acquire(ctx context.Context, set *rules.Set, asks []ask, until time.Duration) (All, error) {
	name := lineOf(asks)
	w := d.lines.join(name)
	if w == nil {
		return d.refuse(ctx, asks)
	}
	defer d.lines.leave(name, w)
	select {
	case <-w.first:
	default:
		if arrived, err := d.until(ctx, w.first, until); err != nil {
			return none(), err
		} else if !arrived {
			return d.refuse(ctx, asks)
		}
	}
	for {
		a, err := d.take(ctx, asks, false)
		if err != nil || a.Allowed {
			return a, err
		}
		now := d.clock.Elapsed()
		if a.RetryAfter > until-now {
			return a, nil
		}
		if _, err := d.until(ctx, nil, now+max(a.RetryAfter, shortestPoll)); err != nil {
			return none(), err
		}
		if next := d.rules.Load(); next != set { // what it waits for may have other limits now
			set = next
			for i := range asks {
				asks[i] = newAsk(set, asks[i].check)
			}
		}
	}
}

// refuse is the answer to a caller that is not admitted yet.
func (d *Decider) refuse(ctx context.Context, asks []ask) (All, error) {
	a, err := d.take(ctx, asks, true)
	if err != nil {
		return a, err
	}
	if a.Allowed {
		a.Blocking = a.Tightest
	}
	a.Allowed = false
	a.RetryAfter = atLeast(a.RetryAfter)
	return a, nil
}

// until waits for first or for a time. It reports whether first came.
func (d *Decider) until(ctx context.Context, first <-chan struct{}, at time.Duration) (arrived bool, err error) {
	over := make(chan struct{})
	timer := d.clock.AfterFunc(at-d.clock.Elapsed(), func() { close(over) })
	defer timer.Stop()
	select {
	case <-first:
		return true, nil
	case <-over:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-d.life.Done():
		return false, &UnavailableError{Reason: StorageUnavailable, RetryAfter: time.Second, Cause: errClosed}
	}
}

var errClosed = errors.New("the service is being stopped")

// lineOf is the name of the line of asks, in whatever order they are.
func lineOf(asks []ask) string {
	if len(asks) == 1 {
		return asks[0].key
	}
	keys := make([]string, len(asks))
	for i := range asks {
		keys[i] = asks[i].key
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), "\x1e")
}
