package node_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func TestExecThatHangsAfterTheStopIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lim := newGuard(t, guard.Policy{Name: "shared", Limits: concurrency(3)})
		release := make(chan struct{})
		var late atomic.Int64
		var events log
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2, 3), func(_ context.Context, i int) (int, error) {
			if i == 2 {
				<-release
				late.Add(1)
			}
			return i, nil
		}, keep).WithParallel(2).Within(lim).WithKey(func(int) string { return "key" }).
			WithFallback(func(context.Context, int, error) (int, error) {
				t.Error("the fallback was asked")
				return 0, nil
			})
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(event.With(ctx, &events), s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 11*time.Second+patience, time.Since(began))
		assert.Zero(t, lim.Stats().InFlight, "its slot was given back")

		check := func() {
			t.Helper()
			all := results(s.report)
			assert.Equal(t, []node.State{node.Done, node.Pending, node.Done}, states(s.report))
			assert.Equal(t, []int{1, 0, 3}, s.report.Values())
			assert.Equal(t, "key", all[1].Key)
			assert.Equal(t, 1, all[1].Attempts)
			require.ErrorAs(t, all[1].Err, new(*fault.HungError))
			require.ErrorIs(t, all[1].Err, context.Canceled)
			assert.Equal(t, []string{"done 0 1", "done 2 1", "abandoned 1 1"}, events.items())
		}
		check()
		close(release)
		synctest.Wait()
		require.Equal(t, int64(1), late.Load(), "now it has returned")
		check()
		assert.Zero(t, lim.Stats().InFlight)
	})
}

// The run ends while its worker has an observer receive the end of the item.
func TestTheEventsOfItemsComeBeforeThatOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []event.Kind
		late := event.Func(func(e event.Event) {
			if e.Kind == event.ItemDone {
				time.Sleep(patience + time.Second/2)
			}
			kinds = append(kinds, e.Kind)
		})
		ctx, cancel := context.WithCancel(event.With(t.Context(), late))
		m := node.Map("m", func(context.Context, int) (int, error) {
			cancel()
			return 1, nil
		}).WithGrace(0)
		outs, err := m.All(ctx, []int{0})
		require.NoError(t, err)
		assert.Equal(t, []int{1}, outs)
		assert.Equal(t, []event.Kind{event.NodeStarted, event.NodeInput, event.ItemDone, event.NodeFinished}, kinds)
	})
}

func TestStreamDoesNotWaitForAHungExec(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			m := node.Map("m", func(ctx context.Context, i int) (int, error) {
				if i == 1 {
					<-release
				}
				return i, work(ctx, 300*time.Millisecond)
			}).WithParallel(2).WithWindow(3).WithGrace(0)
			if unordered {
				m.Unordered()
			}
			time.AfterFunc(time.Second, cancel)
			got := map[int64]node.State{}
			var order []int64
			var last error
			var in endless
			for r, err := range m.Stream(ctx, in.seq) {
				if last = err; err == nil {
					got[r.Index] = r.State
					order = append(order, r.Index)
				}
			}
			require.ErrorIs(t, last, context.Canceled)
			assert.Equal(t, node.Pending, got[1])
			delete(got, 1)
			if unordered {
				assert.Equal(t, map[int64]node.State{0: node.Done, 2: node.Done, 3: node.Done, 4: node.Pending}, got)
			} else {
				assert.Equal(t, map[int64]node.State{0: node.Done, 2: node.Done, 3: node.Done}, got)
				assert.Equal(t, []int64{0, 1, 2, 3}, order, "those behind it were ready, as many as the window holds")
			}
			close(release)
			synctest.Wait()
			assert.True(t, in.ended.Load())
		})
	}
}

// An input that hangs holds up the end for no longer than an item, and what
// it gives after the end is dropped.
func TestHungInputIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		ended := false
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			assert.Zero(t, i, "the late item must not be worked on")
			return i, nil
		}).WithParallel(3)
		input := func(yield func(int, error) bool) {
			defer func() { ended = true }()
			if !yield(0, nil) {
				return
			}
			<-release
			for i := 1; yield(i, nil); i++ {
			}
		}
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		var got []int
		var last error
		for r, err := range m.Stream(ctx, input) {
			if last = err; err == nil {
				got = append(got, r.Out)
			}
		}
		require.ErrorIs(t, last, context.Canceled)
		assert.Equal(t, []int{0}, got)
		assert.Equal(t, time.Second+patience, time.Since(began), "no item needs the grace period")
		assert.False(t, ended)
		close(release)
		synctest.Wait()
		assert.True(t, ended, "an input that comes back is ended then")
	})
}

func TestHungKeyIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		var events log
		s := &state{}
		b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) {
			t.Error("Exec was called")
			return 0, nil
		}, keep).WithGrace(0).WithKey(func(int) string { <-release; return "" })
		time.AfterFunc(time.Second, cancel)
		_, err := b.Run(event.With(ctx, &events), s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []node.State{node.Pending}, states(s.report))
		assert.Equal(t, []string{"abandoned 0 0"}, events.items())
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"abandoned 0 0"}, events.items())
	})
}

func TestStreamDoesNotWaitForAHungKey(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			release := make(chan struct{})
			m := node.Map("m", same).WithGrace(0).WithKey(func(int) string { <-release; return "" })
			if unordered {
				m.Unordered()
			}
			time.AfterFunc(time.Second, func() { cancel(errBoom) })
			n := 0
			for r, err := range m.Stream(ctx, node.Slice(numbers(3))) {
				if err == nil {
					n++
					assert.Equal(t, node.Result[int, int]{State: node.Pending, Err: errBoom}, r)
				}
			}
			assert.Equal(t, 1, n)
			close(release)
		})
	}
}

// The goroutine that was left behind may come back while the run goes on.
func TestHungItemThatFailsAtLastIsNotRetried(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var calls tally
			m := node.Map("m", func(ctx context.Context, i int) (int, error) {
				calls.add(i)
				switch i {
				case 0:
					<-release
					return 0, errBoom
				case 1:
					close(release)
				}
				return i, work(ctx, 900*time.Millisecond)
			}).WithTimeout(time.Second).WithRetry(retry.Policy{Initial: time.Millisecond})
			if limited {
				m.WithLimits(concurrency(1))
			}
			_, err := m.All(t.Context(), numbers(5))
			require.ErrorAs(t, err, new(*fault.HungError))
			assert.Equal(t, 1, calls.of(0))
			assert.Equal(t, 5, calls.sum())
		})
	}
}

// No detector is asked about it either: whatever it says, the item is not sent again.
func TestHungItemThatFailsAtLastIsNotSentAgain(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var calls tally
			m := node.Map("m", func(ctx context.Context, i int) (int, error) {
				calls.add(i)
				switch i {
				case 0:
					<-release
					return 0, errBoom
				case 1:
					close(release)
				}
				return i, work(ctx, 900*time.Millisecond)
			}).With(guard.Policy{Timeout: time.Second, Detector: func(error) adaptive.Feedback {
				return adaptive.Feedback{Verdict: adaptive.Hit}
			}})
			if limited {
				m.WithLimits(concurrency(1))
			}
			_, err := m.All(t.Context(), numbers(5))
			require.ErrorAs(t, err, new(*fault.HungError))
			assert.Equal(t, 1, calls.of(0))
			assert.Equal(t, 5, calls.sum())
		})
	}
}

func TestItemTimeoutStartsWithTheAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 900*time.Millisecond) }).
			WithParallel(5).WithLimits(concurrency(1)).WithTimeout(time.Second)
		_, err := m.All(t.Context(), numbers(5))
		require.NoError(t, err)
		assert.Equal(t, 4500*time.Millisecond, time.Since(began))
	})
}

func TestItemTimeoutIsTheItemsFailure(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := node.Map("m", func(ctx context.Context, i int) (int, error) {
				if i == 1 {
					return 0, work(ctx, time.Hour)
				}
				return i, nil
			}).WithTimeout(2 * time.Second)
			if limited {
				m.WithLimits(concurrency(1))
			}
			began := time.Now()
			out, err := m.All(t.Context(), numbers(3))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "longer than its timeout of 2s")
			assert.NotErrorAs(t, err, new(*fault.HungError))
			assert.Equal(t, []int{0, 0, 2}, out)
			assert.Equal(t, 2*time.Second, time.Since(began))
			var failed *node.BatchError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, node.Counts{Total: 3, Done: 2, Failed: 1}, failed.Counts)
		})
	}
}

func TestTimeoutIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2), func(ctx context.Context, i int) (int, error) {
			if calls.add(i) == 1 {
				return 0, work(ctx, time.Hour)
			}
			return i, nil
		}, keep).WithTimeout(time.Second).WithRetry(retry.Policy{})
		_, err := b.Run(t.Context(), s)
		require.NoError(t, err)
		for res := range s.report.All() {
			assert.Equal(t, node.Done, res.State)
			assert.Equal(t, 2, res.Attempts)
		}
	})
}

func TestHungItemFailsAndGivesBackWhatItHolds(t *testing.T) {
	for _, limited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var calls tally
			var g gauge
			var events log
			s := &state{}
			b := node.BatchFunc("b", feed(1, 2, 3, 4, 5), func(_ context.Context, i int) (int, error) {
				calls.add(i)
				if i == 2 || i == 4 {
					<-release
					return 99, errBoom
				}
				defer g.enter()()
				return i, nil
			}, keep).WithTimeout(time.Second).WithRetry(retry.Policy{})
			if limited {
				b.WithLimits(concurrency(1))
			}
			began := time.Now()
			_, err := b.Run(event.With(t.Context(), &events), s)
			require.NoError(t, err)
			assert.Equal(t, 2*(time.Second+patience), time.Since(began))
			check := func() {
				t.Helper()
				assert.Equal(t, []node.State{node.Done, node.Failed, node.Done, node.Failed, node.Done}, states(s.report))
				assert.Equal(t, []int{1, 0, 3, 0, 5}, s.report.Values())
				assert.Equal(t, []string{"done 0 1", "failed 1 1", "done 2 1", "failed 3 1", "done 4 1"}, events.items())
			}
			check()
			for res := range s.report.Failed() {
				var hung *fault.HungError
				require.ErrorAs(t, res.Err, &hung)
				assert.Equal(t, patience, hung.After)
				require.ErrorIs(t, hung, context.DeadlineExceeded)
				assert.Contains(t, hung.Error(), "did not return within 1s")
			}
			assert.Equal(t, int64(1), g.most.Load(), "its replacement is one worker")
			close(release)
			time.Sleep(time.Hour)
			check()
			assert.Equal(t, 1, calls.of(2), "a hung attempt is not retried, also not when it fails at last")
			if limited {
				lim := b.Guard()
				assert.Zero(t, lim.Stats().InFlight)
			}
		})
	}
}

func TestHungItemHasItsFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		fallbacks := 0
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			switch i {
			case 1:
				<-release
				return 0, errBoom
			case 2:
				close(release)
				return i, work(ctx, 500*time.Millisecond) // the run is not over when the first comes back
			}
			return i, nil
		}).WithTimeout(time.Second).WithFallback(func(_ context.Context, i int, err error) (int, error) {
			fallbacks++
			assert.ErrorAs(t, err, new(*fault.HungError))
			return -i, nil
		})
		out, err := m.All(t.Context(), numbers(3))
		require.NoError(t, err)
		assert.Equal(t, []int{0, -1, 2}, out)
		assert.Equal(t, 1, fallbacks)
	})
}

// An Exec may return in the very moment in which it is given up: the item has
// one result all the same, and the worker one successor at most.
func TestHungItemThatReturnsAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		m := node.Map("m", func(_ context.Context, i int) (int, error) {
			defer g.enter()()
			time.Sleep(time.Second + patience)
			return i, nil
		}).WithTimeout(time.Second).WithLimits(concurrency(2)).WithParallel(2).WithRetry(retry.Policy{MaxAttempts: 1})
		s := &state{}
		for r, err := range m.Stream(t.Context(), node.Slice(numbers(40))) {
			require.NoError(t, err)
			s.log = append(s.log, r.State.String())
			if r.State == node.Failed {
				assert.ErrorAs(t, r.Err, new(*fault.HungError))
			}
		}
		assert.Len(t, s.log, 40)
		lim := m.Guard()
		synctest.Wait()
		assert.Zero(t, lim.Stats().InFlight)
		assert.Equal(t, int64(40), g.total.Load())
	})
}

// A batch without a limiter has no permit to give back: that of a call around
// it belongs to another call.
func TestHungItemLeavesTheCallAroundItAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		lim := newGuard(t, guard.Policy{Name: "outer", Limits: throttle.Limits{
			Concurrency: 1, Windows: []throttle.Window{throttle.Sliding(100, time.Hour).Of(throttle.Tokens)},
		}})
		inner := node.Map("inner", func(_ context.Context, i int) (int, error) {
			if i == 1 {
				<-release
			}
			return i, nil
		}).WithTimeout(time.Second).WithUsed(func(int, int) throttle.Cost { return throttle.Cost{Tokens: 77} })
		outer := node.Map("outer", func(ctx context.Context, _ int) (int, error) {
			_, err := inner.All(ctx, []int{0, 1})
			require.ErrorAs(t, err, new(*fault.HungError)) //nolint:testifylint // it is this test's goroutine that waits
			assert.Equal(t, 1, lim.Stats().InFlight, "the outer call goes on")
			return 0, nil
		}).Within(lim).WithCost(func(int) throttle.Cost { return throttle.Cost{Tokens: 10} })
		_, err := outer.All(t.Context(), []int{0})
		require.NoError(t, err)
		assert.True(t, allows(t, lim, throttle.Cost{Tokens: 90}), "it cost what was reserved")
		assert.False(t, allows(t, lim, throttle.Cost{Tokens: 1}))
		close(release)
	})
}

// An attempt that returns the bare error of its context has one line, which names the setting.
func TestTheErrorOfATimeout(t *testing.T) {
	for with, want := range map[error]string{
		context.DeadlineExceeded:                            "node: the attempt took longer than its timeout of 2s: context deadline exceeded",
		fmt.Errorf("reading: %w", context.DeadlineExceeded): "node: the attempt took longer than its timeout of 2s: context deadline exceeded\nreading: context deadline exceeded",
	} {
		synctest.Test(t, func(t *testing.T) {
			m := node.Map("m", func(ctx context.Context, _ int) (int, error) {
				<-ctx.Done()
				return 0, with
			}).WithTimeout(2 * time.Second)
			for r := range m.Stream(t.Context(), node.Slice([]int{1})) {
				if r.State == node.Failed {
					require.EqualError(t, r.Err, want)
					require.ErrorIs(t, r.Err, context.DeadlineExceeded)
				}
			}
		})
	}
}
