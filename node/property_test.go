package node_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// fate is what happens to an item.
type fate int

const (
	succeeds fate = iota
	fails
	succeedsAtTheThird // attempt; there are two without a retry policy
	isRefusedOnce
	panics
	exits        // by runtime.Goexit
	isUnreadable // the input fails to produce it
	fates
)

type plan struct {
	fate fate
	took time.Duration
}

// scenario is one run and how it may be disturbed.
type scenario struct {
	plans     []plan
	parallel  int
	window    int
	unordered bool
	allowed   int64 // failures; negative: any number
	limits    throttle.Limits
	retries   bool
	grace     time.Duration
	cancelAt  time.Duration // negative: never
	stream    bool
	leaveAt   int // results; negative: never
}

func scenarios() *rapid.Generator[scenario] {
	return rapid.Custom(func(t *rapid.T) scenario {
		seconds := func(name string, from, to int) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
		}
		s := scenario{
			plans: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan {
				return plan{
					fate: fate(rapid.IntRange(0, int(fates)-1).Draw(t, "fate")),
					took: time.Duration(rapid.IntRange(0, 3).Draw(t, "took")) * time.Second,
				}
			}), 0, 25).Draw(t, "plans"),
			parallel:  rapid.IntRange(1, 5).Draw(t, "parallel"),
			unordered: rapid.Bool().Draw(t, "unordered"),
			allowed:   rapid.Int64Range(-3, 4).Draw(t, "allowed"),
			retries:   rapid.Bool().Draw(t, "retries"),
			grace:     seconds("grace", 0, 3),
			cancelAt:  seconds("cancelAt", -5, 15),
			stream:    rapid.Bool().Draw(t, "stream"),
			leaveAt:   rapid.IntRange(-10, 10).Draw(t, "leaveAt"),
		}
		if rapid.Bool().Draw(t, "windowed") {
			s.window = s.parallel + rapid.IntRange(0, 6).Draw(t, "window")
		}
		switch rapid.IntRange(0, 2).Draw(t, "limited") {
		case 1:
			s.limits.Concurrency = rapid.IntRange(1, 4).Draw(t, "concurrency")
		case 2:
			s.limits.Windows = []throttle.Window{throttle.Sliding(rapid.Int64Range(1, 5).Draw(t, "max"), time.Second)}
		}
		return s
	})
}

// outcome is what a run told, and what really happened in it.
type outcome struct {
	results   []node.Result[int, int]
	left      bool // the loop was left
	err       error
	taken     int
	ended     bool // the input was
	successes map[int]int
	calls     map[int]int
	running   gauge
	inFlight  int
}

func (s scenario) play(t *testing.T) *outcome {
	t.Helper()
	var o outcome
	var successes, calls tally
	exec := func(ctx context.Context, i int) (int, error) {
		defer o.running.enter()()
		n := calls.add(i)
		p := s.plans[i]
		if err := work(ctx, p.took); err != nil {
			return -1, err
		}
		switch p.fate {
		case fails:
			return -1, errBoom
		case succeedsAtTheThird:
			if n < 3 {
				return -1, errBoom
			}
		case isRefusedOnce:
			if n == 1 {
				return -1, hit(time.Second)
			}
		case panics:
			panic(i)
		case exits:
			runtime.Goexit()
		case succeeds, isUnreadable, fates:
		}
		successes.add(i)
		return 10 * i, nil
	}
	input := func(yield func(int, error) bool) {
		defer func() { o.ended = true }()
		for i, p := range s.plans {
			o.taken++
			var err error
			if p.fate == isUnreadable {
				err = errBoom
			}
			if !yield(i, err) {
				return
			}
		}
	}
	b := node.BatchFunc("b",
		func(context.Context, *state) (iter.Seq2[int, error], error) { return input, nil }, exec, keep).
		WithParallel(s.parallel).WithGrace(s.grace)
	if s.window > 0 {
		b.WithWindow(s.window)
	}
	if s.unordered {
		b.Unordered()
	}
	if s.allowed >= 0 {
		b.WithOnError(node.MaxFailures(s.allowed))
	}
	if s.retries {
		b.WithRetry(retry.Policy{MaxAttempts: 3, Initial: time.Second, NoJitter: true})
	}
	if s.limits.Concurrency > 0 || s.limits.Windows != nil {
		b.WithLimits(s.limits)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if s.cancelAt >= 0 {
		time.AfterFunc(s.cancelAt, cancel)
	}
	if s.stream {
		for r, err := range b.Stream(ctx, input) {
			if o.err = err; err != nil {
				continue
			}
			o.results = append(o.results, r)
			if len(o.results) == s.leaveAt {
				o.left = true
				break
			}
		}
	} else {
		st := &state{}
		_, o.err = b.Run(ctx, st)
		o.results = results(st.report)
	}
	o.inFlight = b.Guard().Stats().InFlight
	o.successes, o.calls = successes.counts, calls.counts
	return &o
}

// check returns what is wrong with o.
func (s scenario) check(o *outcome) error {
	seen := map[int64]node.State{}
	counts := map[node.State]int64{}
	for at, r := range o.results {
		if _, twice := seen[r.Index]; twice {
			return fmt.Errorf("item %d has two results", r.Index)
		}
		seen[r.Index] = r.State
		counts[r.State]++
		if err := s.checkResult(o, r); err != nil {
			return fmt.Errorf("item %d, %s with %w: %w", r.Index, r.State, r.Err, err)
		}
		if ordered := !s.stream || !s.unordered; ordered && r.Index != int64(at) {
			return fmt.Errorf("item %d is at %d", r.Index, at)
		}
	}
	stopped := o.err != nil
	switch {
	case o.running.now.Load() != 0:
		return fmt.Errorf("%d items are still running", o.running.now.Load())
	case o.running.most.Load() > int64(s.parallel):
		return fmt.Errorf("%d items ran at once", o.running.most.Load())
	case s.limits.Concurrency > 0 && o.running.most.Load() > int64(s.limits.Concurrency):
		return fmt.Errorf("%d items ran at once, above the limit", o.running.most.Load())
	case o.inFlight != 0:
		return fmt.Errorf("%d permits were not given back", o.inFlight)
	case !o.ended && o.taken > 0:
		return fmt.Errorf("the input was not ended")
	case !o.left && len(o.results) != o.taken:
		return fmt.Errorf("%d results of %d items taken", len(o.results), o.taken)
	case !o.left && !stopped && o.taken != len(s.plans):
		return fmt.Errorf("%d of %d items were taken, and no error", o.taken, len(s.plans))
	case !o.left && !stopped && counts[node.Pending] > 0:
		return fmt.Errorf("pending items and no error")
	case stopped && s.cancelAt < 0 && (s.allowed < 0 || counts[node.Failed] <= s.allowed):
		return fmt.Errorf("stopped for nothing: %w", o.err)
	case s.allowed >= 0 && counts[node.Failed] > s.allowed+int64(s.parallel):
		return fmt.Errorf("%d items failed", counts[node.Failed])
	case s.allowed >= 0 && counts[node.Failed] > s.allowed && !stopped && !o.left:
		return fmt.Errorf("%d items failed, and no error", counts[node.Failed])
	}
	return nil //nolint:nilerr // the error of the run is what was looked at
}

func (s scenario) checkResult(o *outcome, r node.Result[int, int]) error {
	i := int(r.Index)
	f := s.plans[i].fate
	willFail := slices.Contains([]fate{fails, panics, exits, isUnreadable}, f) || f == succeedsAtTheThird && !s.retries
	attempts := 1
	if s.retries && (f == fails || f == succeedsAtTheThird) {
		attempts = 3
	}
	switch r.State {
	case node.Done:
		switch {
		case willFail:
			return fmt.Errorf("it cannot be done")
		case r.Err != nil:
			return fmt.Errorf("it has an error: %w", r.Err)
		case r.Out != 10*i || r.In != i:
			return fmt.Errorf("it has the value %d", r.Out)
		case o.successes[i] != 1:
			return fmt.Errorf("it was executed %d times to success", o.successes[i])
		case r.Attempts != attempts:
			return fmt.Errorf("it took %d attempts", r.Attempts)
		}
		return nil
	case node.Failed:
		if !willFail {
			return fmt.Errorf("it cannot fail")
		}
		if f != isUnreadable && r.Attempts != attempts {
			return fmt.Errorf("it took %d attempts", r.Attempts)
		}
	case node.Pending:
		if s.cancelAt < 0 && s.allowed < 0 && !o.left {
			return fmt.Errorf("nothing has stopped it")
		}
	default:
		return fmt.Errorf("no such state")
	}
	switch {
	case r.Err == nil:
		return fmt.Errorf("it has no error")
	case r.Out != 0:
		return fmt.Errorf("it has the value %d", r.Out)
	case o.successes[i] != 0:
		return fmt.Errorf("it was executed to success")
	case f == isUnreadable && o.calls[i] != 0:
		return fmt.Errorf("it was executed")
	}
	return nil
}

func TestEveryItemIsInOneState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := scenarios().Draw(rt, "scenario")
		var o *outcome
		synctest.Test(t, func(t *testing.T) { o = s.play(t) })
		if err := s.check(o); err != nil {
			rt.Fatalf("%v\n%+v", err, o.results)
		}
	})
}
