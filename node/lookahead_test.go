package node_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func onePer(d time.Duration) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, d)}}
}

// Items of a slow host, all ahead of those of a fast one, do not hold these up.
func TestItemsThatWaitDoNotHoldUpOthers(t *testing.T) {
	for name, set := range map[string]func(b batch){
		"":         func(batch) {},
		"explicit": func(b batch) { b.WithLookahead(40) },
		"journal":  func(b batch) { b.WithJournal(journal.NewMemory()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := newGuard(t, guard.Policy{Name: "slow", Limits: onePer(time.Minute)})
				fast := newGuard(t, guard.Policy{Name: "fast", Limits: onePer(time.Second)})
				var g gauge
				var mu sync.Mutex
				var last time.Time // of the fast one
				began := time.Now()
				m := node.Map("m", func(ctx context.Context, i int) (int, error) {
					defer g.enter()()
					if i >= 10 {
						mu.Lock()
						last = time.Now()
						mu.Unlock()
					}
					return i, work(ctx, 100*time.Millisecond)
				}).WithParallel(2).WithinOf(func(i int) *guard.Guard {
					if i < 10 {
						return slow
					}
					return fast
				})
				set(m)
				out, err := m.All(t.Context(), numbers(30))
				require.NoError(t, err)
				assert.Equal(t, numbers(30), out)
				assert.Equal(t, 19*time.Second, last.Sub(began), "as fast as their host allows")
				assert.Equal(t, 9*time.Minute+100*time.Millisecond, time.Since(began))
				assert.LessOrEqual(t, g.most.Load(), int64(2))
				assert.Zero(t, slow.Stats().InFlight+fast.Stats().InFlight+m.Guard().Stats().InFlight)
			})
		})
	}
}

// WithParallel bounds the calls of a run, and the lookahead the items that were taken.
func TestLookaheadBoundsWhatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		paused := newGuard(t, guard.Policy{})
		paused.Pause(time.Now().Add(time.Hour))
		s := &state{}
		b := node.BatchFunc("b", feed(numbers(100)...), same, keep).WithLookahead(7).WithParallel(2).Within(paused)
		time.AfterFunc(time.Minute, cancel)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, node.Counts{Total: 7, Pending: 7}, s.report.Counts())
	})
}

// In order, the window is what bounds a run with a lookahead.
func TestStreamWithALookaheadKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newGuard(t, guard.Policy{Limits: onePer(time.Minute)})
		m := node.Map("m", same).WithParallel(2).WithWindow(5).WithinOf(func(i int) *guard.Guard {
			if i == 1 || i == 2 {
				return slow
			}
			return nil
		})
		next := 0
		for r, err := range m.Stream(t.Context(), node.Slice(numbers(50))) {
			require.NoError(t, err)
			assert.Equal(t, next, r.Out)
			next++
		}
		assert.Equal(t, 50, next)
	})
}

func TestGuardOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newGuard(t, guard.Policy{Name: "host", Timeout: time.Second, Retry: &retry.Policy{MaxAttempts: 2, NoJitter: true}})
		var calls, asked tally
		s := &state{}
		b := node.BatchFunc("b", feed(numbers(4)...), func(ctx context.Context, i int) (int, error) {
			switch n := calls.add(i); {
			case i == 0 && n == 1:
				return 0, hit(time.Second)
			case i == 1:
				return 0, work(ctx, time.Hour)
			}
			return i, nil
		}, keep).WithinOf(func(i int) *guard.Guard {
			asked.add(i)
			switch i {
			case 2:
				return nil
			case 3:
				panic("no host")
			}
			return host
		})
		_, err := b.Run(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, []node.State{node.Done, node.Failed, node.Done, node.Failed}, states(s.report))
		all := results(s.report)
		require.ErrorIs(t, all[1].Err, context.DeadlineExceeded)
		assert.Equal(t, 2, all[1].Attempts, "by the timeout and the retries of its guard")
		require.ErrorAs(t, all[3].Err, new(*fault.PanicError))
		assert.Equal(t, 4, asked.sum(), "once for each item")
		assert.Equal(t, int64(1), host.Stats().View.Hits, "the item's guard learns")
		assert.Zero(t, b.Guard().Stats().View.Hits)
	})
}

// A batch that knows the provider itself learns from it.
func TestLimitsOfAnItemLearnNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := newGuard(t, guard.Policy{Name: "user", Limits: concurrency(1)})
		var calls tally
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			if calls.add(i) == 1 {
				return 0, hit(time.Second)
			}
			return i, nil
		}).With(guard.Policy{Law: aimd}).WithinOf(func(int) *guard.Guard { return user })
		_, err := m.All(t.Context(), numbers(1))
		require.NoError(t, err)
		assert.Equal(t, int64(1), m.Guard().Stats().View.Hits)
		assert.Zero(t, user.Stats().View.Hits)
	})
}

// A deadline that leaves no time for one host leaves time for the others.
func TestDeadlineThatLeavesNoTimeForOneHost(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			slow := newGuard(t, guard.Policy{Name: "slow", Limits: onePer(time.Hour)})
			s := &state{}
			items := 200
			if own {
				items = 1000 // more than are looked ahead at: as many begin before the first is too late
			}
			b := node.BatchFunc("b", feed(numbers(items)...), same, keep).WithinOf(func(i int) *guard.Guard {
				if i%2 == 0 {
					return slow
				}
				return nil
			})
			if own {
				b.WithLimits(onePer(time.Hour))
			}
			_, err := b.Run(ctx, s)
			require.ErrorAs(t, err, new(*throttle.DeadlineError))
			if own {
				assert.Equal(t, int64(1), s.report.Counts().Done)
				assert.Less(t, s.report.Counts().Total, int64(items), "no item can be admitted")
				return
			}
			assert.Equal(t, node.Counts{Total: 200, Done: 101, Pending: 99}, s.report.Counts())
		})
	}
}

// What was reported inside of a call counts, as it does for guard.Guard.Do.
func TestReportInsideOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if calls.add(i) == 1 {
				guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute})
				return 0, errBoom
			}
			return i, nil
		})
		began := time.Now()
		_, err := m.All(t.Context(), numbers(1))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), time.Minute)
	})
}
