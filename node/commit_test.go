package node_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// from has the nth operation and all later ones of that kind go wrong.
func from(n int64, fault func() error) func() error {
	var calls atomic.Int64
	return func() error {
		if calls.Add(1) >= n {
			return fault()
		}
		return nil
	}
}

// faults are what user code may do in the place of its work.
func faults(hang <-chan struct{}) map[string]func() error {
	return map[string]func() error{
		"fails":  func() error { return errDisk },
		"panics": func() error { panic(errDisk) },
		"exits":  func() error { runtime.Goexit(); return nil },
		"hangs":  func() error { <-hang; return errDisk },
	}
}

// A journal that goes wrong stops the run. What it has recorded is done, and
// everything else pending.
func TestAJournalThatGoesWrong(t *testing.T) {
	for _, op := range []string{"begin", "finish"} {
		for name := range faults(nil) {
			for _, nth := range []int64{1, 5} {
				t.Run(fmt.Sprint(op, " ", nth, " ", name), func(t *testing.T) {
					if op == "begin" && name == "hangs" {
						t.Skip("as any code that hangs")
					}
					synctest.Test(t, func(t *testing.T) {
						hang := make(chan struct{})
						defer close(hang)
						fault := from(nth, faults(hang)[name])
						j := newFaulty(always(op, fault))
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						time.AfterFunc(time.Hour, cancel)
						var calls tally
						s := &state{}
						b := node.BatchFunc("b", feed(numbers(400)...), func(ctx context.Context, i int) (int, error) {
							calls.add(i)
							return i + 1, work(ctx, time.Second)
						}, keep).WithParallel(2).WithJournal(j)
						_, err := b.Run(ctx, s)
						recorded := records(t, j.Memory, "b", journal.Done)
						counts := s.report.Counts()
						assert.Equal(t, int64(len(recorded)), counts.Done)
						assert.Equal(t, counts.Total, counts.Done+counts.Pending+counts.Failed)
						if op == "begin" && name == "exits" { // as if Exec of the item exits
							require.NoError(t, err)
							assert.Equal(t, node.Counts{Total: 400, Done: nth - 1, Failed: 401 - nth}, counts)
							return
						}
						assert.Zero(t, counts.Failed)
						var failed *node.JournalError
						require.ErrorAs(t, err, &failed)
						assert.Equal(t, op, failed.Op)
						if name != "exits" && name != "hangs" {
							require.ErrorIs(t, err, errDisk)
						}
						for r := range s.report.All() {
							if r.State == node.Pending {
								assert.Error(t, r.Err)
								assert.Zero(t, r.Out)
							}
						}
					})
				})
			}
		}
	}
}

func TestAJournalThatDoesNotOpen(t *testing.T) {
	for _, op := range []string{"open", "load"} {
		for name, fault := range faults(nil) {
			if name == "exits" || name == "hangs" {
				continue // it is the caller's goroutine
			}
			t.Run(op+" "+name, func(t *testing.T) {
				j := newFaulty(always(op, from(1, fault)))
				m := node.Map("m", same).WithJournal(j).WithLimits(concurrency(1))
				ctx := t.Context()
				for range 2 { // nothing is left behind
					_, err := m.All(ctx, numbers(2))
					var failed *node.JournalError
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, "open", failed.Op)
					require.ErrorIs(t, err, errDisk)
				}
			})
		}
	}
}

// A record that was not acknowledged is still available to the next run.
func TestACommitNobodyHeardOf(t *testing.T) {
	j := newFaulty(always("finish", func() error { return errAfter }))
	var calls tally
	exec := func(_ context.Context, i int) (int, error) { calls.add(i); return i, nil }
	_, err := node.Map("m", exec).WithJournal(j).All(t.Context(), []int{1})
	require.ErrorIs(t, err, errAfter)
	outs, err := node.Map("m", exec).WithJournal(j.Memory).All(t.Context(), []int{1})
	require.NoError(t, err)
	assert.Equal(t, []int{1}, outs)
	assert.Equal(t, 1, calls.sum())
}

// With a journal nothing is lost, and the next run hands everything on again.
// Without one, what the sink has not taken is pending.
func TestASinkThatGoesWrong(t *testing.T) {
	for name := range faults(nil) {
		for _, journaled := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", journaled), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					hang := make(chan struct{})
					defer close(hang)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(time.Hour, cancel)
					sink := &tracked{on: from(3, faults(hang)[name])}
					j := newFaulty(nil)
					batch := func(sink node.Sink[int, int]) *node.Batch[*state, int, int] {
						b := node.BatchFunc("b", feed(numbers(6)...), func(ctx context.Context, i int) (int, error) {
							return i, work(ctx, time.Second)
						}, keep).WithSink(sink)
						if journaled {
							b.WithJournal(j)
						}
						return b
					}
					s := &state{}
					_, err := batch(sink).Run(ctx, s)
					var failed *node.SinkError
					require.ErrorAs(t, err, &failed)
					counts := s.report.Counts()
					assert.Len(t, sink.results(), 2)
					switch {
					case !journaled:
						assert.Equal(t, int64(2), counts.Done)
						assert.Equal(t, counts.Total-2, counts.Pending)
						return
					case name == "hangs":
						assert.Equal(t, int64(2), counts.Done, "what hangs in the sink is not handed on")
						return
					}
					assert.GreaterOrEqual(t, counts.Done, int64(3))
					assert.Len(t, records(t, j, "b", journal.Done), int(counts.Done))
					again := &tracked{}
					_, err = batch(again).Run(t.Context(), s)
					require.NoError(t, err)
					assert.Len(t, again.results(), 6)
					third := &tracked{}
					_, err = batch(third).Run(t.Context(), s)
					require.NoError(t, err)
					assert.Empty(t, third.results(), "they are known to have been taken")
				})
			})
		}
	}
}

// What is not recorded is not written either.
func TestNothingIsWrittenOnceTheJournalHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &tracked{}
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			return i, work(ctx, time.Duration(1+2*i)*time.Second)
		}).WithParallel(2).WithJournal(newFaulty(always("finish", func() error { return errDisk }))).WithSink(sink)
		_, err := m.All(t.Context(), numbers(2))
		require.ErrorIs(t, err, errDisk)
		assert.Empty(t, sink.results())
	})
}

func TestAllTellsOfItsSink(t *testing.T) {
	m := node.Map("m", same).WithJournal(journal.NewMemory()).WithSink(&tracked{on: func() error { return errDisk }})
	outs, err := m.All(t.Context(), []int{1})
	var failed *node.SinkError
	require.ErrorAs(t, err, &failed, "although every item is done")
	assert.EqualError(t, failed, `node "m": the sink: disk full`)
	assert.Equal(t, []int{1}, outs)
}

func TestASinkGetsWhatIsDoneOrFailed(t *testing.T) {
	sink := &tracked{}
	b := node.BatchFunc("b", feed(1, 2, 3), func(_ context.Context, i int) (int, error) {
		if i == 2 {
			return 0, errBoom
		}
		return i, nil
	}, keep).WithSink(sink)
	s := &state{}
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	got := sink.results()
	require.Len(t, got, 3)
	assert.Equal(t, node.Result[int, int]{Index: 1, In: 2, Attempts: 1, State: node.Failed, Err: errBoom}, got[1])
	assert.Nil(t, s.report.Values())
	assert.Equal(t, node.Counts{Total: 3, Done: 2, Failed: 1}, s.report.Counts())
	assert.Equal(t, []node.Result[int, int]{got[1]}, results(s.report))
	require.ErrorIs(t, s.report.Err(), errBoom)
	outs, err := node.Map("m", same).WithSink(sink).All(t.Context(), []int{5})
	require.NoError(t, err)
	assert.Equal(t, []int{5}, outs)
	assert.Len(t, sink.results(), 4)
}

func TestAReportWithASinkKeepsAHundredFailures(t *testing.T) {
	b := node.BatchFunc("b", feed(numbers(300)...), func(context.Context, int) (int, error) { return 0, errBoom }, keep).
		WithSink(&tracked{}).WithParallel(4)
	s := &state{}
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 2 { // it is safe to read at once
		wg.Go(func() {
			n, last := 0, int64(-1)
			for r := range s.report.Failed() {
				n++
				assert.Greater(t, r.Index, last)
				last = r.Index
			}
			assert.Equal(t, 100, n)
		})
	}
	wg.Wait()
	assert.Equal(t, int64(300), s.report.Counts().Failed)
}

// What has finished when the run is cancelled, or left, is committed.
func TestWhatIsFinishedIsCommitted(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, m batch){
		"cancelled": func(t *testing.T, m batch) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1500*time.Millisecond, cancel)
			outs, err := m.All(ctx, numbers(9))
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, []int{0, 1, 2, 3, 0, 0, 0, 0, 0}, outs)
		},
		"left": func(t *testing.T, m batch) {
			t.Helper()
			for r, err := range m.WithGrace(0).Stream(t.Context(), node.Slice(numbers(9))) {
				require.NoError(t, err)
				if r.Index == 1 {
					time.Sleep(500 * time.Millisecond)
				}
				if r.Index == 3 {
					break
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func(op string) error {
					if op == "finish" {
						return work(context.Background(), 100*time.Millisecond)
					}
					return nil
				}
				j := newFaulty(slow)
				m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, time.Second) }).
					WithJournal(j).WithParallel(2)
				run(t, m)
				assert.Len(t, records(t, j.Memory, "m", journal.Done), 4)
			})
		})
	}
}

// No commit waits for a group to become full, and no group is larger than 256.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFaulty(func(op string) error {
			if op == "finish" {
				return work(context.Background(), time.Second)
			}
			return nil
		})
		began := time.Now()
		_, err := node.Map("m", same).WithJournal(j).WithParallel(4).All(t.Context(), numbers(1000))
		require.NoError(t, err)
		n := 0
		for _, group := range j.finished {
			assert.LessOrEqual(t, len(group), 256)
			n += len(group)
		}
		assert.Equal(t, 1000, n)
		assert.LessOrEqual(t, len(j.finished), 1+1000/256+1)
		assert.Equal(t, time.Duration(len(j.finished))*time.Second, time.Since(began))
	})
}

// A result is handed on once it is recorded: to the sink first. The mark of what that has taken comes with the next
// records, or at the end.
func TestTheOrderOfACommit(t *testing.T) {
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	j := newFaulty(func(op string) error {
		if op == "finish" {
			note("journal")
		}
		return nil
	})
	sink := node.SinkFunc(func(_ context.Context, r node.Result[int, int]) error {
		note("sink")
		return nil
	})
	for range node.Map("m", same).WithJournal(j).WithSink(sink).Stream(t.Context(), node.Slice([]int{1})) {
		note("loop")
	}
	assert.Equal(t, []string{"journal", "sink"}, order[:2])
	assert.ElementsMatch(t, []string{"loop", "journal"}, order[2:])
	assert.Equal(t, []string{"+", "+"}, j.marks)
	assert.Len(t, j.finished[0], 1)
	assert.Empty(t, j.finished[1])
}

// The policy counts a failure when it happens and not when it is recorded.
func TestFailFastIsFastWithAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFaulty(always("finish", func() error { return work(context.Background(), 5*time.Second) }))
		var calls tally
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			calls.add(i)
			if i == 1 {
				return 0, errBoom
			}
			return i, work(ctx, time.Second)
		}).WithJournal(j).WithOnError(node.FailFast())
		_, err := m.All(t.Context(), numbers(100))
		var many *node.TooManyFailuresError
		require.ErrorAs(t, err, &many)
		assert.Equal(t, int64(1), many.Failures)
		assert.Equal(t, 2, calls.sum())
	})
}

func TestMaxFailuresCountsOnce(t *testing.T) {
	m := node.Map("m", func(_ context.Context, i int) (int, error) {
		if i < 3 {
			return 0, errBoom
		}
		return i, nil
	}).WithJournal(journal.NewMemory()).WithOnError(node.MaxFailures(3))
	for range 2 {
		_, err := m.All(t.Context(), numbers(9))
		var failed *node.BatchError
		require.ErrorAs(t, err, &failed)
		require.NoError(t, failed.Stopped)
	}
}

// ownerOf returns the owner that has the part.
func ownerOf(t *testing.T, j journal.Journal, p journal.Part) journal.Owner {
	t.Helper()
	_, err := j.Open(t.Context(), p, journal.NewOwner(), "", time.Now())
	var held *journal.HeldError
	require.ErrorAs(t, err, &held)
	return held.Lease.Owner
}

// Two attempts that share a part, as when one was given up, agree on what was recorded first.
func TestSomebodyElseWasFaster(t *testing.T) {
	for name, tc := range map[string]struct {
		other journal.Record
		want  node.Result[int, int]
		err   string
	}{
		"with a result": {
			journal.Record{State: journal.Done, Value: []byte("9"), Attempts: 3},
			node.Result[int, int]{In: 1, Out: 9, Attempts: 3, State: node.Resumed},
			"",
		},
		"with a failure": {
			journal.Record{State: journal.Failed, Err: "no", Attempts: 3},
			node.Result[int, int]{In: 1, Attempts: 3, State: node.Failed, Err: &node.RecordedError{Text: "no", Attempts: 3}},
			"",
		},
		"with another type":  {journal.Record{State: journal.Done, Value: []byte(`"x"`)}, node.Result[int, int]{}, "cannot unmarshal"},
		"and forgot the run": {journal.Record{}, node.Result[int, int]{}, "was the run forgotten while it was running?"},
	} {
		t.Run(name, func(t *testing.T) {
			j := journal.NewMemory()
			b := node.BatchFunc("b", feed(1), func(ctx context.Context, i int) (int, error) {
				part := journal.Part{Run: journal.DefaultRun, Node: "b"}
				owner := ownerOf(t, j, part) //nolint:contextcheck // of the test
				for r, err := range j.All(ctx, part) {
					require.NoError(t, err)
					if tc.other.Key = r.Key; tc.other.State == journal.Unknown {
						require.NoError(t, j.Release(ctx, part, owner))
						require.NoError(t, j.Forget(ctx, journal.DefaultRun))
						_, err = j.Open(ctx, part, owner, "", time.Now())
						require.NoError(t, err)
						continue
					}
					_, err = j.Finish(ctx, part, owner, "", tc.other)
					require.NoError(t, err)
				}
				return i, nil
			}, keep).WithJournal(j)
			s := &state{}
			_, err := b.Run(t.Context(), s)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				assert.Equal(t, []node.State{node.Pending}, states(s.report))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []node.Result[int, int]{tc.want}, results(s.report))
		})
	}
}

// A worker that comes back when the run is over hands nothing on.
func TestALateResultIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFaulty(nil)
		hang := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		s := &state{}
		b := node.BatchFunc("b", feed(1, 2), func(context.Context, int) (int, error) { <-hang; return 1, nil }, keep).
			WithJournal(j).WithParallel(2)
		_, err := b.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		close(hang)
		synctest.Wait()
		assert.Equal(t, []node.State{node.Pending, node.Pending}, states(s.report))
		assert.Empty(t, j.finished)
	})
}

// An observer that ends the committer's goroutine ends nothing else.
func TestAnObserverThatExits(t *testing.T) {
	o := event.Func(func(e event.Event) {
		if e.Kind == event.ItemDone {
			runtime.Goexit()
		}
	})
	s := &state{}
	b := node.BatchFunc("b", feed(numbers(200)...), same, keep).WithJournal(journal.NewMemory()).WithParallel(2)
	_, err := b.Run(event.With(t.Context(), o), s)
	require.NoError(t, err)
	assert.Equal(t, int64(200), s.report.Counts().Done)
}

type exiting struct{ N int }

func (e exiting) MarshalJSON() ([]byte, error) {
	switch e.N {
	case 1:
		panic("no JSON")
	case 2:
		runtime.Goexit()
	}
	return []byte(`{"N":0}`), nil
}

func TestAResultWhoseJSONGoesWrongFailsAlone(t *testing.T) {
	for n, want := range []string{"", "the result cannot be kept: headrace: panic: no JSON", "runtime.Goexit"} {
		j := journal.NewMemory()
		var calls tally
		for round := range 2 {
			m := node.Map("m", func(_ context.Context, i int) (exiting, error) {
				calls.add(i)
				if i == 1 {
					return exiting{n}, nil
				}
				return exiting{}, nil
			}).WithJournal(j)
			_, err := m.All(t.Context(), numbers(3))
			assert.Equal(t, 3, calls.sum(), "round %d", round)
			if want == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "1 of 3 items failed")
			assert.ErrorContains(t, err, want)
		}
	}
}

func TestOneGoroutineWritesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		sink := node.SinkFunc(func(ctx context.Context, _ node.Result[int, int]) error {
			defer g.enter()()
			return work(ctx, time.Second)
		})
		m := node.Map("m", same).WithSink(sink)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := m.All(t.Context(), numbers(3))
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, int64(9), g.total.Load())
		assert.Equal(t, int64(1), g.most.Load())
	})
}

func TestJournalErrorsTellWhatWasTried(t *testing.T) {
	err := &node.JournalError{Node: "n", Op: "finish", Err: errDisk}
	assert.EqualError(t, err, `node "n": the journal, finish: disk full`)
	assert.ErrorIs(t, err, errDisk)
}

func TestAnErrorWhoseTextPanics(t *testing.T) {
	j := journal.NewMemory()
	b := node.BatchFunc("b", feed(1), func(context.Context, int) (int, error) { return 0, mute{} }, keep).WithJournal(j)
	_, err := b.Run(t.Context(), &state{})
	require.NoError(t, err)
	failed := records(t, j, "b", journal.Failed)
	require.Len(t, failed, 1)
	assert.Contains(t, failed[0].Err, "its Error method panicked: no words")
}

type mute struct{}

func (mute) Error() string { panic("no words") }
