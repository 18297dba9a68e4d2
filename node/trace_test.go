package node_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// followed holds the events after one begin.
type followed struct {
	begin  event.Event
	parent *followed
	ends   []event.Event
	notes  []event.Kind
	inside bool
}

// follower is a tracer of the kinds that it is given.
type follower struct {
	kinds []event.Kind

	mu  sync.Mutex // guards all and what is in it
	all []*followed
}

type followedKey struct{}

func (f *follower) Observe(event.Event) {}

func (f *follower) Traces(kind event.Kind) bool { return slices.Contains(f.kinds, kind) }

func (f *follower) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parent, _ := ctx.Value(followedKey{}).(*followed)
	one := &followed{begin: begin, parent: parent, inside: emit.IsInside(ctx)}
	f.all = append(f.all, one)
	return context.WithValue(ctx, followedKey{}, one), func(e event.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		one.ends = append(one.ends, e)
	}
}

func (f *follower) Note(ctx context.Context, e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := ctx.Value(followedKey{}).(*followed); ok {
		one.notes = append(one.notes, e.Kind)
	}
}

// of returns what began with that kind, by index. All of it has ended once.
func (f *follower) of(t *testing.T, kind event.Kind) []*followed {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*followed
	for _, one := range f.all {
		if len(one.ends) != 1 {
			t.Errorf("%s %s %d ended %d times", one.begin.Kind, one.begin.Source, one.begin.Index, len(one.ends))
		} else if one.begin.Kind == kind {
			found = append(found, one)
		}
	}
	slices.SortStableFunc(found, func(a, b *followed) int { return int(a.begin.Index - b.begin.Index) })
	return found
}

func endings(all []*followed) (kinds []event.Kind) {
	for _, one := range all {
		kinds = append(kinds, one.ends[0].Kind)
	}
	return kinds
}

func all() *follower {
	return &follower{kinds: []event.Kind{event.NodeStarted, event.ItemStarted, event.AttemptStarted}}
}

func refuseOnce() func() error {
	var once sync.Once
	return func() (err error) {
		once.Do(func() { err = &adaptive.RateLimitHit{Kind: adaptive.KindRequests} })
		return err
	}
}

// A node, its items and their attempts are one tree, and what happens is noted where it does.
func TestTraceOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := all()
		ctx := event.With(t.Context(), f)
		refuse, failed := refuseOnce(), false
		b := node.Map("double", func(ctx context.Context, i int) (int, error) {
			at, _ := ctx.Value(followedKey{}).(*followed)
			assert.Equal(t, event.AttemptStarted, at.begin.Kind)
			assert.Equal(t, int64(i), at.begin.Index)
			switch {
			case i == 1 && !failed:
				failed = true
				return 0, errors.New("once")
			case i == 2:
				if err := refuse(); err != nil {
					return 0, err
				}
			case i == 3:
				return 0, errors.New("always")
			}
			return 2 * i, nil
		}).WithLimits(throttle.Limits{Concurrency: 2}).WithRetry(retry.Policy{MaxAttempts: 2})
		_, err := b.All(ctx, []int{0, 1, 2, 3})
		require.Error(t, err)

		run := f.of(t, event.NodeStarted)
		require.Len(t, run, 1)
		assert.Nil(t, run[0].parent)
		assert.False(t, run[0].inside)
		assert.Equal(t, event.NodeFinished, run[0].ends[0].Kind)
		assert.Error(t, run[0].ends[0].Err)

		items := f.of(t, event.ItemStarted)
		assert.Equal(t, []event.Kind{event.ItemDone, event.ItemDone, event.ItemDone, event.ItemFailed}, endings(items))
		for i, it := range items {
			assert.Same(t, run[0], it.parent)
			assert.True(t, it.inside)
			assert.Equal(t, int64(i), it.begin.Index)
			assert.Equal(t, int64(i), it.ends[0].Index)
		}
		assert.Empty(t, items[0].notes)
		assert.Equal(t, []event.Kind{event.ItemRetry}, items[1].notes)
		assert.Contains(t, items[2].notes, event.LimiterHit)
		assert.Contains(t, items[2].notes, event.LimiterCut)
		assert.Equal(t, 2, items[3].ends[0].Attempt)

		attempts := map[int64][]int{}
		for _, a := range f.of(t, event.AttemptStarted) {
			attempts[a.begin.Index] = append(attempts[a.begin.Index], a.begin.Attempt)
			assert.Same(t, items[a.begin.Index], a.parent)
			assert.Equal(t, event.AttemptFinished, a.ends[0].Kind)
		}
		assert.Equal(t, map[int64][]int{0: {1}, 1: {1, 2}, 2: {1, 1}, 3: {1, 2}}, attempts)
	})
}

func TestTraceOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := all()
		ctx := event.With(t.Context(), f)
		n := 0
		s := node.Do("step", func(ctx context.Context, _ node.None) error {
			at, _ := ctx.Value(followedKey{}).(*followed)
			assert.Equal(t, event.AttemptStarted, at.begin.Kind)
			if n++; n == 1 {
				return errors.New("once")
			}
			panic("then")
		}).WithRetry(retry.Policy{MaxAttempts: 2})
		_, err := s.Run(ctx, node.None{})
		require.Error(t, err)
		run := f.of(t, event.NodeStarted)
		require.Len(t, run, 1)
		assert.Equal(t, []event.Kind{event.ItemRetry}, run[0].notes)
		attempts := f.of(t, event.AttemptStarted)
		require.Len(t, attempts, 2)
		assert.EqualError(t, attempts[0].ends[0].Err, "once")
		assert.ErrorAs(t, attempts[1].ends[0].Err, new(*fault.PanicError))
		assert.Empty(t, f.of(t, event.ItemStarted))
	})
}

// Whatever ends an item ends what traces it, once: a cancel, a panic, code that hangs or ends its goroutine,
// a loop that is left, a failure too many.
func TestEveryTraceEnds(t *testing.T) {
	type batch = *node.Batch[node.None, int, int]
	for name, c := range map[string]struct {
		exec func(ctx context.Context, cancel func(), i int) (int, error)
		set  func(batch) batch
		left bool // the loop is, after the first result
		want []event.Kind
	}{
		"cancel": {
			exec: func(ctx context.Context, cancel func(), i int) (int, error) {
				if i == 1 {
					cancel()
				}
				<-ctx.Done()
				return 0, context.Cause(ctx)
			},
			want: []event.Kind{event.ItemAbandoned, event.ItemAbandoned},
		},
		"cancel while it waits": {
			exec: cancelling,
			set:  func(b batch) batch { return b.WithLimits(throttle.Limits{Concurrency: 1}) },
			want: []event.Kind{event.ItemDone, event.ItemAbandoned},
		},
		"panic": {
			exec: func(context.Context, func(), int) (int, error) { panic("exec") },
			want: []event.Kind{event.ItemFailed, event.ItemFailed, event.ItemFailed, event.ItemFailed},
		},
		"Goexit": {
			exec: func(context.Context, func(), int) (int, error) { runtime.Goexit(); return 0, nil },
			want: []event.Kind{event.ItemFailed, event.ItemFailed, event.ItemFailed, event.ItemFailed},
		},
		"hang": {
			exec: func(_ context.Context, _ func(), i int) (int, error) {
				if i == 0 {
					time.Sleep(time.Hour)
				}
				return 0, nil
			},
			set:  func(b batch) batch { return b.WithTimeout(time.Second) },
			want: []event.Kind{event.ItemFailed, event.ItemDone, event.ItemDone, event.ItemDone},
		},
		"hang and cancel": {
			exec: func(_ context.Context, cancel func(), i int) (int, error) {
				if i == 1 {
					cancel()
				}
				time.Sleep(time.Hour)
				return 0, nil
			},
			want: []event.Kind{event.ItemAbandoned, event.ItemAbandoned},
		},
		"hang before an attempt": {
			exec: cancelling,
			set: func(b batch) batch {
				return b.WithKey(func(i int) string {
					if i == 1 {
						time.Sleep(time.Hour)
					}
					return "k"
				})
			},
			want: []event.Kind{event.ItemDone, event.ItemAbandoned},
		},
		"failures": {
			exec: func(context.Context, func(), int) (int, error) { return 0, errors.New("no") },
			set:  func(b batch) batch { return b.WithOnError(node.FailFast()).WithParallel(1) },
			want: []event.Kind{event.ItemFailed},
		},
		"break": {
			exec: func(ctx context.Context, _ func(), i int) (int, error) {
				if i > 0 {
					<-ctx.Done()
				}
				return 0, context.Cause(ctx)
			},
			left: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := all()
				ctx, cancel := context.WithCancel(event.With(t.Context(), f))
				defer cancel()
				b := node.Map("n", func(ctx context.Context, i int) (int, error) { return c.exec(ctx, cancel, i) }).
					WithParallel(2)
				if c.set != nil {
					b = c.set(b)
				}
				for _, err := range b.Stream(ctx, node.Slice([]int{0, 1, 2, 3})) {
					if c.left {
						break
					}
					_ = err
				}
				items := f.of(t, event.ItemStarted)
				if c.want != nil {
					assert.ElementsMatch(t, c.want, endings(items), "who of two is first at a limiter is open")
				}
				assert.Len(t, f.of(t, event.NodeStarted), 1)
				f.of(t, event.AttemptStarted)
				time.Sleep(2 * time.Hour) // what hangs returns after all, and tells nothing more
				synctest.Wait()
				f.of(t, event.AttemptStarted)
			})
		})
	}
}

// slow is a tracer that takes its time over the begin of item 0.
type slow struct {
	follower

	begin   chan struct{}       // closed: it may go on
	observe func(e event.Event) // may be nil
}

func (s *slow) Observe(e event.Event) { s.observe(e) }

func (s *slow) Trace(ctx context.Context, begin event.Event) (context.Context, func(event.Event)) {
	if begin.Index == 0 {
		<-s.begin
	}
	return s.follower.Trace(ctx, begin)
}

// An item that begins while its run ends, or later, also ends.
func TestATraceThatBeginsTooLate(t *testing.T) {
	for _, when := range []string{"while the run ends", "after"} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{follower: follower{kinds: []event.Kind{event.ItemStarted}}, begin: make(chan struct{})}
			ctx, cancel := context.WithCancel(event.With(t.Context(), s))
			defer cancel()
			hung := make(chan struct{})
			defer close(hung)
			s.observe = func(e event.Event) {
				if e.Kind == event.ItemAbandoned && e.Index == 1 && when != "after" { // item 0 has been reported
					close(s.begin)
					time.Sleep(time.Minute)
				}
			}
			b := node.Map("n", same).WithParallel(2).WithKey(func(int) string { <-hung; return "k" })
			time.AfterFunc(time.Second, cancel)
			_, err := b.All(ctx, []int{0, 1})
			require.ErrorIs(t, err, context.Canceled)
			if when == "after" {
				close(s.begin)
				synctest.Wait()
			}
			assert.Equal(t, []event.Kind{event.ItemAbandoned, event.ItemAbandoned}, endings(s.of(t, event.ItemStarted)), when)
		})
	}
}

// cancelling lets the next item begin, and then cancels.
func cancelling(_ context.Context, cancel func(), _ int) (int, error) {
	time.Sleep(time.Second)
	cancel()
	time.Sleep(time.Second)
	return 0, nil
}

// A tracer of nodes alone is asked for no item, but knows what is inside of one.
func TestTraceOfNodesAlone(t *testing.T) {
	f := &follower{kinds: []event.Kind{event.NodeStarted}}
	ctx := event.With(t.Context(), f)
	inner := node.Do("inner", func(context.Context, node.None) error { return nil })
	b := node.Map("outer", func(ctx context.Context, i int) (int, error) {
		_, err := inner.Run(ctx, node.None{})
		return i, err
	})
	_, err := b.All(ctx, []int{0, 1})
	require.NoError(t, err)
	runs := f.of(t, event.NodeStarted)
	require.Len(t, runs, 3)
	for _, run := range runs {
		assert.Equal(t, run.begin.Source == "inner", run.inside)
	}
	assert.Empty(t, f.of(t, event.ItemStarted))
}
