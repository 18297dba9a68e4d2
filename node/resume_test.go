package node_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	"github.com/headrace/headrace/internal/occurrence"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// kept runs b on s and returns the report.
func kept(t *testing.T, b *node.Batch[*state, int, int]) (*node.Report[int, int], error) {
	t.Helper()
	s := &state{}
	_, err := b.Run(t.Context(), s)
	return s.report, err
}

func TestWhatIsDoneIsNotCalledAgain(t *testing.T) {
	j := journal.NewMemory()
	var calls atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	batch := func() *node.Batch[node.None, int, int] {
		return node.Map("double", func(_ context.Context, i int) (int, error) {
			if calls.Add(1) == 30 {
				cancel()
			}
			return 2 * i, nil
		}).WithParallel(4).WithJournal(j)
	}
	outs, err := batch().All(ctx, numbers(100))
	require.ErrorIs(t, err, context.Canceled)
	first := calls.Load()
	assert.Less(t, first, int64(100))
	done := 0
	for i, out := range outs {
		if i > 0 && out == 2*i {
			done++
		}
	}
	assert.GreaterOrEqual(t, int64(done), first-1, "what was called is handed on")

	outs, err = batch().All(t.Context(), numbers(100))
	require.NoError(t, err)
	assert.Equal(t, int64(100), calls.Load(), "each once")
	for i, out := range outs {
		assert.Equal(t, 2*i, out)
	}
}

func TestAResumedResult(t *testing.T) {
	j := journal.NewMemory()
	var kinds []event.Kind
	key := func(i int) string { return fmt.Sprint("item ", i) }
	for range 2 {
		b := node.BatchFunc("b", feed(4), same, keep).WithJournal(j).WithKey(key)
		s := &state{}
		ctx := event.With(t.Context(), event.Func(func(e event.Event) {
			if e.Kind == event.ItemDone || e.Kind == event.ItemResumed {
				kinds = append(kinds, e.Kind)
			}
		}))
		_, err := b.Run(ctx, s)
		require.NoError(t, err)
		require.NoError(t, s.report.Err())
		want := node.Result[int, int]{Key: "item 4", In: 4, Out: 4, Attempts: 1, State: node.Done}
		if len(kinds) == 2 {
			want.State = node.Resumed
			assert.Equal(t, node.Counts{Total: 1, Resumed: 1}, s.report.Counts())
		}
		assert.Equal(t, []node.Result[int, int]{want}, results(s.report))
	}
	assert.Equal(t, []event.Kind{event.ItemDone, event.ItemResumed}, kinds)
}

func TestFailuresAreKeptUntilTheyAreToBeRetried(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	batch := func() *node.Batch[*state, int, int] {
		return node.BatchFunc("b", feed(1), func(_ context.Context, i int) (int, error) {
			if calls.add(i) < 4 {
				return 0, errBoom
			}
			return i, nil
		}, keep).WithJournal(j).WithRetry(retry.Policy{MaxAttempts: 2, Initial: 1}).
			WithFallback(func(_ context.Context, _ int, err error) (int, error) { return 7, err })
	}
	r, err := kept(t, batch())
	require.NoError(t, err)
	assert.ErrorIs(t, results(r)[0].Err, errBoom)

	r, err = kept(t, batch())
	require.NoError(t, err)
	var recorded *node.RecordedError
	res := results(r)[0]
	require.ErrorAs(t, res.Err, &recorded)
	assert.Equal(t, &node.RecordedError{Text: "boom", Attempts: 2}, recorded)
	assert.EqualError(t, recorded, "it failed before, after 2 attempts: boom")
	assert.Equal(t, node.Failed, res.State)
	assert.Zero(t, res.Out)
	assert.Equal(t, 2, res.Attempts)
	assert.Equal(t, 2, calls.of(1), "it was not called")

	r, err = kept(t, batch().RetryFailed())
	require.NoError(t, err)
	res = results(r)[0]
	assert.Equal(t, node.Done, res.State)
	assert.Equal(t, 4, res.Attempts, "of all runs")

	r, err = kept(t, batch().RetryFailed())
	require.NoError(t, err)
	assert.Equal(t, node.Resumed, results(r)[0].State)
	assert.Equal(t, 4, results(r)[0].Attempts)
}

// What is not recorded is called by the next run, which has another chance.
func TestWhichFailuresAreRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		exec     func(ctx context.Context, calls int) (int, error)
		set      func(batch)
		recorded bool
	}{
		"an error":            {func(context.Context, int) (int, error) { return 0, errBoom }, nil, true},
		"a panic":             {func(context.Context, int) (int, error) { panic(1) }, nil, true},
		"goexit":              {func(context.Context, int) (int, error) { runtime.Goexit(); return 0, nil }, nil, true},
		"a hung call":         {func(context.Context, int) (int, error) { return 0, nil }, func(b batch) { b.WithTimeout(time.Second) }, true},
		"a quota used up":     {func(context.Context, int) (int, error) { return 0, adaptive.ErrQuotaExhausted }, nil, false},
		"an overloaded model": {func(context.Context, int) (int, error) { return 0, errors.New("status 529: overloaded_error") }, func(b batch) { b.With(guard.Policy{Detector: overloaded}) }, false},
		"a journal inside":    {func(context.Context, int) (int, error) { return 0, &node.JournalError{Err: errDisk} }, nil, false},
		"a sink inside":       {func(context.Context, int) (int, error) { return 0, &node.SinkError{Err: errDisk} }, nil, false},
		"a fallback's value": {func(context.Context, int) (int, error) { return 0, errBoom }, func(b batch) {
			b.WithFallback(func(context.Context, int, error) (int, error) { return 1, nil })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, calls := journal.NewMemory(), atomic.Int64{} // a hanging call is not waited for
				hang, release := context.WithCancel(context.Background())
				defer release()
				for range 2 {
					b := node.Map("b", func(ctx context.Context, _ int) (int, error) {
						n := calls.Add(1)
						if name == "a hung call" {
							<-hang.Done()
							return 0, nil
						}
						return tc.exec(ctx, int(n))
					}).WithJournal(j)
					if tc.set != nil {
						tc.set(b)
					}
					_, _ = b.All(t.Context(), []int{1})
				}
				want := int64(2)
				if tc.recorded {
					want = 1
				}
				assert.Equal(t, want, calls.Load())
			})
		})
	}
}

func overloaded(err error) adaptive.Feedback {
	if strings.Contains(err.Error(), "overloaded") {
		return adaptive.Feedback{Verdict: adaptive.Overloaded, Final: true}
	}
	return adaptive.Feedback{}
}

func TestAnItemThatCannotBeNamedFails(t *testing.T) {
	j := newFaulty(nil)
	m := node.Map("m", func(_ context.Context, f float64) (float64, error) { return f, nil }).WithJournal(j)
	outs, err := m.All(t.Context(), []float64{1, math.NaN(), 3})
	require.ErrorContains(t, err, "1 of 3 items failed; first: item 1: the item has no JSON to know it by: use WithKey")
	assert.Equal(t, []float64{1, 0, 3}, outs)

	keyed := node.Map("keyed", same).WithJournal(j).WithKey(func(i int) string {
		switch i {
		case 0:
			return ""
		case 1:
			panic("no key")
		default:
			return strings.Repeat("long", 1000) + "\x00\xff" + strconv.Itoa(i)
		}
	})
	for range 2 {
		ints, err := keyed.All(t.Context(), numbers(4))
		require.ErrorContains(t, err, "2 of 4 items failed; first: item 0: WithKey has no key for the item")
		var panicked *fault.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.Equal(t, []int{0, 0, 2, 3}, ints, "what is too long is hashed")
	}
}

func TestAKeyThatExitsLosesOneItem(t *testing.T) {
	m := node.Map("m", same).WithJournal(journal.NewMemory()).WithParallel(2).WithKey(func(i int) string {
		if i == 1 {
			runtime.Goexit()
		}
		return strconv.Itoa(i)
	})
	_, err := m.All(t.Context(), numbers(4))
	require.ErrorContains(t, err, "runtime.Goexit")
}

func TestItemsOfTheSameContentAreToldApart(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	batch := node.Map("m", func(_ context.Context, i int) (int, error) { return calls.add(i), nil }).WithJournal(j)
	outs, err := batch.All(t.Context(), []int{1, 2, 1})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 2}, outs)
	outs, err = batch.All(t.Context(), []int{1, 1, 1, 2})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 3, 1}, outs, "one more than there were")
}

func TestRunsHaveTheirOwnRecords(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	m := node.Map("m", func(_ context.Context, i int) (int, error) { return calls.add(i), nil }).WithJournal(j)
	for _, run := range []string{"a", "b", "a"} {
		_, err := m.All(journal.WithRun(t.Context(), run), []int{1})
		require.NoError(t, err)
	}
	assert.Equal(t, 2, calls.sum())
}

func TestAnotherVersionIsRefused(t *testing.T) {
	j := journal.NewMemory()
	m := func(v string) batch { return node.Map("m", same).WithJournal(j).WithVersion(v) }
	_, err := m("1").All(t.Context(), []int{1})
	require.NoError(t, err)
	outs, err := m("2").All(t.Context(), []int{1})
	var version *journal.VersionError
	require.ErrorAs(t, err, &version)
	assert.Equal(t, "2", version.Wanted)
	var failed *node.JournalError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "open", failed.Op)
	assert.Nil(t, outs)
	for _, err := range m("2").Stream(t.Context(), node.Slice([]int{1})) {
		require.ErrorAs(t, err, &version)
	}
	_, err = m("2").Run(t.Context(), node.None{})
	require.ErrorAs(t, err, &version)
}

func TestSettingsThatNeedAJournal(t *testing.T) {
	m := node.Map("m", same).RetryFailed().Dedup().WithVersion("1").WithJournal(nil).WithSink(nil)
	assertProblems(t, m.Validate(), "RetryFailed", "Dedup", "WithVersion", "WithJournal", "WithSink")
	assertProblems(t, node.Map("m", same).RetryFailed().Dedup().WithVersion("1").WithJournal(journal.NewMemory()).Validate())
}

func TestWhatWasRecordedOfAnotherType(t *testing.T) {
	j := journal.NewMemory()
	_, err := node.Map("m", func(_ context.Context, i int) (string, error) { return "text", nil }).WithJournal(j).All(t.Context(), []int{1})
	require.NoError(t, err)
	outs, err := node.Map("m", same).WithJournal(j).All(t.Context(), []int{1, 2})
	var failed *node.JournalError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "decode", failed.Op)
	assert.Contains(t, failed.Error(), "give WithVersion when the type changes")
	assert.Equal(t, []int{0, 0}, outs)
}

func TestAResultWithoutJSONFailsAlone(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	batch := func() *node.Batch[node.None, int, float64] {
		return node.Map("m", func(_ context.Context, i int) (float64, error) {
			calls.add(i)
			if i == 2 {
				return math.Inf(1), nil
			}
			return float64(i), nil
		}).WithJournal(j)
	}
	outs, err := batch().All(t.Context(), numbers(9))
	require.EqualError(t, err, `node "m": 1 of 9 items failed; first: item 2: the result cannot be kept: json: unsupported value: +Inf`)
	var failed *node.ResultError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, math.Inf(1), failed.Value, "it was paid for")
	assert.Equal(t, []float64{0, 1, 0, 3, 4, 5, 6, 7, 8}, outs)
	assert.Len(t, records(t, j, "m", journal.Done), 8)

	outs, err = batch().All(t.Context(), numbers(9))
	require.ErrorContains(t, err, "1 of 9 items failed; first: item 2: it failed before, after 1 attempt: the result cannot be kept")
	assert.Equal(t, []float64{0, 1, 0, 3, 4, 5, 6, 7, 8}, outs)
	assert.Equal(t, 9, calls.sum(), "each once")
	_, err = batch().RetryFailed().All(t.Context(), numbers(9))
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 10, calls.sum())
}

// records are the contents in a state.
func records(t *testing.T, j journal.Journal, of string, s journal.State) (all []journal.Record) {
	t.Helper()
	for r, err := range j.All(t.Context(), journal.Part{Run: journal.DefaultRun, Node: of}) {
		require.NoError(t, err)
		if r.State == s {
			all = append(all, r)
		}
	}
	return all
}

func TestTheInputHasChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		first, then []int
		dedup       bool
		left        int64
	}{
		"as it was":             {[]int{1, 2, 3}, []int{3, 2, 1}, false, 0},
		"less":                  {[]int{1, 2, 3}, []int{3, 1}, false, 1},
		"more":                  {[]int{1, 2}, []int{1, 2, 3}, false, 0},
		"another":               {[]int{1, 2, 3}, []int{4, 5, 6}, false, 3},
		"one of two":            {[]int{1, 1}, []int{1}, false, 1},
		"with Dedup":            {[]int{1, 1, 2}, []int{2}, true, 1},
		"with Dedup, more":      {[]int{1, 2, 3}, []int{1, 1, 1, 1}, true, 2},
		"with Dedup, as it was": {[]int{1, 1, 2}, []int{2, 1}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := journal.NewMemory()
			var told []string
			o := event.Func(func(e event.Event) {
				if e.Kind == event.JournalLeftover {
					told = append(told, e.Source+": "+e.Reason)
				}
			})
			run := func(items []int) int64 {
				b := node.BatchFunc("b", feed(items...), same, keep).WithJournal(j)
				if tc.dedup {
					b.Dedup()
				}
				s := &state{}
				_, err := b.Run(event.With(t.Context(), o), s)
				require.NoError(t, err)
				return s.report.Leftover()
			}
			assert.Zero(t, run(tc.first))
			assert.Empty(t, told)
			assert.Equal(t, tc.left, run(tc.then))
			if tc.left == 0 {
				assert.Empty(t, told)
				return
			}
			assert.Equal(t, []string{fmt.Sprintf(`b: the journal has %d records of run "default", node "b", that match no item: `+
				`the input has changed, or what WithKey returns`, tc.left)}, told)
		})
	}
}

// A run that was stopped has not looked for all of them.
func TestNothingIsLeftOverOfARunThatWasStopped(t *testing.T) {
	j := journal.NewMemory()
	_, err := node.Map("b", same).WithJournal(j).All(t.Context(), numbers(5))
	require.NoError(t, err)
	s := &state{}
	b := node.BatchFunc("b", feed(7, 8, 9), func(context.Context, int) (int, error) { return 0, errBoom }, keep).
		WithJournal(j).WithOnError(node.FailFast())
	_, err = b.Run(t.Context(), s)
	require.ErrorIs(t, err, errBoom)
	assert.Zero(t, s.report.Leftover())
}

func TestOnePartTwiceAtOnce(t *testing.T) {
	j := journal.NewMemory()
	inner := node.Map("inner", func(ctx context.Context, i int) (int, error) { return i, work(ctx, time.Second) }).WithJournal(j)
	step := func(ctx context.Context, i int) (int, error) {
		_, err := inner.All(ctx, []int{i})
		return i, err
	}
	scoped := func(t *testing.T, outer batch) error {
		t.Helper()
		ctx, end := occurrence.With(t.Context())
		defer end()
		_, err := outer.WithParallel(2).All(ctx, numbers(2))
		return err
	}
	t.Run("is refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := scoped(t, node.Map("outer", step))
			require.ErrorContains(t, err, `node "inner" of run "default" is at work twice at the same time: items of both would be `+
				`taken for each other; give the batch around it a journal too, or each its own run`)
		})
	})
	t.Run("but not with a journal around", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, scoped(t, node.Map("outer", step).WithJournal(j)))
		})
	})
	t.Run("and not under Dedup", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls tally
			inner := node.Map("dedup", func(ctx context.Context, i int) (int, error) {
				calls.add(i)
				return i, work(ctx, time.Second)
			}).WithJournal(j).Dedup()
			require.NoError(t, scoped(t, node.Map("outer", func(ctx context.Context, i int) (int, error) {
				_, err := inner.All(ctx, []int{7})
				return i, err
			})))
			assert.Equal(t, 1, calls.sum(), "one call in the process")
		})
	})
}

// Another attempt at an item, and another process, find what is done inside it.
func TestBatchesInsideItems(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	broken := true
	inner := node.Map("inner", func(_ context.Context, i int) (int, error) {
		if calls.add(i); broken && i%10 == 1 {
			broken = false
			return 0, errBoom
		}
		return i, nil
	}).WithJournal(j).RetryFailed()
	outer := func() batch {
		return node.Map("outer", func(ctx context.Context, i int) (int, error) {
			outs, err := inner.All(ctx, []int{10 * i, 10*i + 1, 10 * i})
			return sum(outs), err
		}).WithJournal(j).WithRetry(retry.Policy{MaxAttempts: 2, Initial: 1})
	}
	for range 2 {
		outs, err := outer().All(t.Context(), []int{1, 2, 1})
		require.NoError(t, err)
		assert.Equal(t, []int{31, 61, 31}, outs)
		assert.Equal(t, 4, calls.of(10), "twice in each of two items")
		assert.Equal(t, 3, calls.of(11), "one of them failed once")
	}
	var nodes []string
	for r, err := range j.All(t.Context(), journal.Part{Run: journal.DefaultRun}) {
		require.NoError(t, err)
		nodes = append(nodes, r.Key.Node)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	assert.Len(t, nodes, 4)
	for _, n := range nodes[1:] {
		assert.Regexp(t, `^outer\[[0-9a-f]{32}#[01]\]/inner$`, n)
	}
}

func TestNamesStayShortHoweverDeepTheyLie(t *testing.T) {
	j := journal.NewMemory()
	name := strings.Repeat("n", 500)
	m := node.Map(name, same).WithJournal(j)
	for range 20 {
		inner := m
		m = node.Map(name, func(ctx context.Context, i int) (int, error) {
			outs, err := inner.All(ctx, []int{i})
			if err != nil {
				return 0, err
			}
			return outs[0], nil
		}).WithJournal(j).WithKey(func(int) string { return "[a/b#c]" })
		if len(name) > 1 {
			name = name[:len(name)/2]
		}
	}
	for range 2 {
		outs, err := m.All(t.Context(), []int{5})
		require.NoError(t, err)
		assert.Equal(t, []int{5}, outs)
	}
}

func TestDedup(t *testing.T) {
	for name, tc := range map[string]struct {
		parallel int
		stream   bool
		window   int
	}{
		"one worker":     {1, false, 0},
		"many":           {8, false, 0},
		"in line":        {3, true, 3},
		"in a long line": {3, true, 9},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := journal.NewMemory()
				var calls tally
				exec := func(ctx context.Context, i int) (int, error) {
					calls.add(i)
					if err := work(ctx, time.Second); err != nil || i == 3 {
						return 0, errBoom
					}
					return 10 * i, nil
				}
				m := node.Map("m", exec).WithParallel(tc.parallel).WithJournal(j).Dedup()
				items := []int{1, 1, 3, 2, 3, 1, 2, 1, 3}
				var got []node.Result[int, int]
				if tc.stream {
					for r, err := range m.WithWindow(tc.window).Stream(t.Context(), node.Slice(items)) {
						require.NoError(t, err)
						got = append(got, r)
					}
				} else {
					s := &state{}
					b := node.BatchFunc("m", feed(items...), exec, keep).
						WithParallel(tc.parallel).WithJournal(j).Dedup()
					_, err := b.Run(t.Context(), s)
					require.NoError(t, err)
					got = results(s.report)
				}
				counts := map[node.State]int{}
				for i, r := range got {
					counts[r.State]++
					if items[i] != 3 {
						assert.Equal(t, 10*items[i], r.Out)
					}
				}
				assert.Equal(t, map[node.State]int{node.Done: 2, node.Resumed: 4, node.Failed: 3}, counts)
				assert.Equal(t, 3, calls.sum(), "one for each content")
			})
		})
	}
}

// What failed in an earlier run is retried once, and not once for each item.
func TestDedupRetriesOnce(t *testing.T) {
	j := journal.NewMemory()
	for round := range 3 {
		var calls tally
		m := node.Map("m", func(_ context.Context, i int) (int, error) { calls.add(i); return 0, errBoom }).
			WithParallel(2).WithJournal(j).Dedup().RetryFailed()
		_, err := m.All(t.Context(), []int{1, 1, 2, 1, 2})
		require.Error(t, err)
		assert.Equal(t, 1, calls.of(1), "round %d", round)
		assert.Equal(t, 1, calls.of(2), "round %d", round)
	}
}

// The next one takes over from one that could not be sent.
func TestDedupGoesOnWithTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, calls := journal.NewMemory(), 0
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			if calls++; calls == 1 {
				return 0, &node.SinkError{Err: errDisk} // leaves it pending
			}
			return i, work(ctx, time.Second)
		}).WithParallel(3).WithJournal(j).Dedup()
		outs, err := m.All(t.Context(), []int{1, 1, 1})
		require.ErrorIs(t, err, errDisk)
		assert.Equal(t, 2, sum(outs))
		assert.Equal(t, 2, calls)
	})
}

func TestWhoWaitsForAnotherIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, 5*time.Second) }).
			WithParallel(2).WithJournal(journal.NewMemory()).Dedup()
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		outs, err := m.All(ctx, []int{1, 1})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, sum(outs), "the first had its grace")
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}
