package flow_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// rounds is a loop around a batch that gets the same item in each round.
type rounds struct {
	wanted, got int
	outs        []int
}

func looping(j journal.Journal, exec func() int) *flow.Flow[*rounds] {
	b := node.BatchFunc("b",
		func(context.Context, *rounds) (iter.Seq2[int, error], error) { return node.Slice([]int{7}), nil },
		func(context.Context, int) (int, error) { return exec(), nil },
		func(_ context.Context, s *rounds, r *node.Report[int, int]) (node.Action, error) {
			s.outs = append(s.outs, r.Values()...)
			if s.got++; s.got < s.wanted {
				return "again", r.Err()
			}
			return node.Next, r.Err()
		}).WithJournal(j)
	return flow.New[*rounds]("loop", b).On(b, "again", b).End(b, node.Next)
}

// A loop counts on from round to round, and the next process with it.
func TestALoopIsResumed(t *testing.T) {
	j, calls := journal.NewMemory(), 0
	exec := func() int { calls++; return calls }
	var told []string
	o := event.Func(func(e event.Event) {
		if e.Kind == event.JournalLeftover {
			told = append(told, e.Reason)
		}
	})
	run := func(name string, wanted int) []int {
		s := &rounds{wanted: wanted}
		_, err := flow.Run(t.Context(), looping(j, exec), s, flow.WithRun(name), flow.WithObserver(o))
		require.NoError(t, err)
		return s.outs
	}
	assert.Equal(t, []int{1, 2}, run("a", 2))
	assert.Equal(t, []int{1, 2, 3}, run("a", 3))
	assert.Equal(t, []int{4}, run("b", 1))
	assert.Empty(t, told, "rounds to come are no change of the input")
	assert.Equal(t, []int{1}, run("a", 1))
	require.Len(t, told, 1)
	assert.Contains(t, told[0], `2 records of run "a"`)
}

// Another attempt at what is around a batch pays for nothing twice, and a round that follows counts on.
func TestAnotherAttemptMeetsTheSameItems(t *testing.T) {
	for _, around := range []string{"step", "batch of flows", "step in a step"} {
		t.Run(around, func(t *testing.T) {
			j, calls, fails := journal.NewMemory(), 0, 0
			var inner node.Node[*rounds] = looping(j, func() int { calls++; return calls })
			again := retry.Policy{MaxAttempts: 3, Initial: 1, Max: 1}
			retried := func(n node.Node[*rounds], times int) node.Node[*rounds] {
				tries := 0
				return node.Do("try", func(ctx context.Context, s *rounds) error {
					s.got, s.outs = 0, nil
					_, err := n.Run(ctx, s)
					if tries++; err == nil && tries%times != 0 {
						err = errBoom
					}
					return err
				}).WithRetry(again)
			}
			one := &rounds{wanted: 2}
			switch around {
			case "step":
				inner = retried(inner, 3)
			case "step in a step":
				inner = retried(retried(inner, 2), 2)
			default:
				flaky := node.Do("flaky", func(context.Context, *rounds) error {
					if fails++; fails%3 != 0 {
						return errBoom
					}
					return nil
				})
				part := flow.New("part", inner).Then(flaky)
				inner = flow.Batch("parts",
					func(context.Context, *rounds) (iter.Seq2[rounds, error], error) {
						return node.Slice([]rounds{{wanted: 2}}), nil
					}, node.Node[*rounds](part), func(_ context.Context, s *rounds, r *node.Report[rounds, rounds]) (node.Action, error) {
						s.outs = r.Values()[0].outs
						return node.Next, r.Err()
					}).WithRetry(again)
			}
			var outs [][]int
			twice := node.Do("note", func(context.Context, *rounds) error { outs = append(outs, one.outs); return nil })
			back := node.Decide("back", func(context.Context, *rounds) (node.Action, error) {
				if len(outs) < 2 {
					return "again", nil
				}
				return node.Next, nil
			})
			f := flow.New("f", inner).Then(twice).Then(back).On(back, "again", inner).End(back, node.Next)
			for range 2 { // and so does the next process
				fails, outs, one.got = 0, nil, 0
				_, err := flow.Run(t.Context(), f, one, flow.WithRun("a"))
				require.NoError(t, err)
				assert.Equal(t, [][]int{{1, 2}, {3, 4}}, outs)
				assert.Equal(t, 4, calls)
			}
		})
	}
}

// What is refused after a batch inside is done is sent again, without a policy too.
func TestARefusedAttemptMeetsTheSameItems(t *testing.T) {
	for _, around := range []string{"step", "batch"} {
		synctest.Test(t, func(t *testing.T) {
			calls, asked := 0, 0
			inner := looping(journal.NewMemory(), func() int { calls++; return calls })
			ask := func(ctx context.Context, s rounds) (rounds, error) {
				if _, err := inner.Run(ctx, &s); err != nil {
					return s, err
				}
				if asked++; asked == 1 {
					return s, &adaptive.RateLimitHit{}
				}
				return s, nil
			}
			var outs []int
			step := node.Do("ask", func(ctx context.Context, s rounds) error {
				s, err := ask(ctx, s)
				outs = s.outs
				return err
			})
			if around == "batch" {
				step = node.Do("outer", func(ctx context.Context, s rounds) error {
					all, err := node.Map("ask", ask).All(ctx, []rounds{s})
					outs = all[0].outs
					return err
				})
			}
			_, err := flow.Run(t.Context(), step, rounds{wanted: 2})
			require.NoError(t, err)
			assert.Equal(t, []int{1, 2}, outs, around)
			assert.Equal(t, 2, asked, around)
			assert.Equal(t, 2, calls, around)
		})
	}
}

func ExampleWithRun() {
	j := journal.NewMemory() // store/sqlitestore keeps one in a file
	calls := 0
	f := looping(j, func() int { calls++; return 10 * calls })
	for _, run := range []string{"november", "november", "december"} {
		s := &rounds{wanted: 2}
		_, err := flow.Run(context.Background(), f, s, flow.WithRun(run))
		fmt.Println(s.outs, calls, err)
	}
	// Output:
	// [10 20] 2 <nil>
	// [10 20] 2 <nil>
	// [30 40] 4 <nil>
}

// What a step inside a batch of flows has learned is kept by the journal of the batch.
func TestTheLawOfAStepInsideAJournaledBatchIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.NewMemory()
		run := func(name string, items ...int) (learned adaptive.View) {
			step := node.Do("ask", func(context.Context, *int) error { return nil }).With(guard.Policy{Law: adaptive.AIMD{Initial: 8}})
			rejected := false
			refuse := node.Do("refuse", func(context.Context, *int) error {
				if name == "first" && !rejected {
					rejected = true
					return &adaptive.RateLimitHit{RetryAfter: time.Second}
				}
				return nil
			}).Within(step.Guard())
			b := flow.Each("jobs", func([]int) []int { return items }, flow.New("job", step).Then(refuse), func([]int, []int) {}).
				WithParallel(1).WithJournal(j)
			_, err := flow.Run(t.Context(), flow.New("all", b), []int{}, flow.WithRun(name), flow.WithObserver(event.Func(func(e event.Event) {
				if e.Kind == event.FlowStarted && learned.Concurrency == 0 && e.Source == "job" {
					learned = step.Guard().Stats().View
				}
			})))
			require.NoError(t, err)
			if name == "first" {
				return step.Guard().Stats().View
			}
			return learned
		}
		first := run("first", 1)
		require.Less(t, first.Concurrency, 8, "it was cut")
		second := run("second", 1)
		assert.Equal(t, first.Concurrency, second.Concurrency, "before the first call")
	})
}
