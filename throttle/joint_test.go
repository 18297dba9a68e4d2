package throttle_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	judge "github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/throttle"
)

func limited(tb testing.TB, l throttle.Limits) *throttle.Limiter {
	tb.Helper()
	lim, err := throttle.New(l)
	require.NoError(tb, err)
	return lim
}

func within(w ...throttle.Window) throttle.Limits { return throttle.Limits{Windows: w} }

// all acquires from all limiters, and returns what ends the call.
func all(ctx context.Context, limiters ...*throttle.Limiter) (end func(), err error) {
	permits := make([]throttle.Permit, len(limiters))
	if err := throttle.AcquireAll(ctx, limiters, throttle.Cost{}, nil, permits); err != nil {
		return nil, err
	}
	return func() {
		for _, p := range permits {
			p.Release()
		}
	}, nil
}

func TestAJointCallThatWaitsHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, slow := limited(t, throttle.Limits{Concurrency: 2}), limited(t, within(throttle.Sliding(1, time.Hour)))
		end, err := all(t.Context(), slots, slow)
		require.NoError(t, err)
		end()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if end, err := all(ctx, slots, slow); err == nil {
					end()
				}
			})
		}
		synctest.Wait()
		assert.Zero(t, slots.Stats().InFlight)
		assert.Equal(t, 3, slots.Stats().Waiting)
		p, err := slots.TryAcquire(throttle.Cost{})
		require.NoError(t, err, "a call that does not need the slow limiter overtakes them")
		p.Release()
		cancel()
		wg.Wait()
		assert.Zero(t, slots.Stats().Waiting+slow.Stats().Waiting)
	})
}

func TestLimitersInOppositeOrdersDoNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := limited(t, throttle.Limits{Concurrency: 1}), limited(t, throttle.Limits{Concurrency: 1})
		var wg sync.WaitGroup
		begin := time.Now()
		for i := range 100 {
			order := []*throttle.Limiter{x, y}
			if i%2 == 0 {
				slices.Reverse(order)
			}
			wg.Go(func() {
				end, err := all(t.Context(), order...)
				if assert.NoError(t, err) {
					time.Sleep(time.Second)
					end()
				}
			})
		}
		wg.Wait()
		assert.Equal(t, 100*time.Second, time.Since(begin))
	})
}

// Calls that need both of two busy limiters get their part.
func TestNoSetOfLimitersStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := limited(t, within(throttle.Sliding(1, 500*time.Millisecond))), limited(t, within(throttle.Sliding(1, 700*time.Millisecond)))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var mu sync.Mutex
		served := map[string]int{}
		var longest time.Duration
		var wg sync.WaitGroup
		for name, set := range map[string][]*throttle.Limiter{"x": {x}, "y": {y}, "both": {x, y}} {
			for range 5 {
				wg.Go(func() {
					for ctx.Err() == nil {
						asked := time.Now()
						end, err := all(ctx, set...)
						if err != nil {
							return
						}
						end()
						mu.Lock()
						served[name]++
						longest = max(longest, time.Since(asked))
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		t.Log(served, longest)
		assert.GreaterOrEqual(t, served["both"], 140, "a third of what y allows")
		assert.GreaterOrEqual(t, served["x"]+served["both"], 570, "x is used up")
		assert.GreaterOrEqual(t, served["y"]+served["both"], 400, "y is used up")
	})
}

// An outer limiter serves the lines of its inner limiters in turn.
func TestLinesShareTheOuterLimiterEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := limited(t, within(throttle.Sliding(10, time.Second)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		var mu sync.Mutex
		served := make([]int, 4)
		for key := range 4 {
			inner := limited(t, within(throttle.Sliding(100, time.Second)))
			for range 5 + 20*key { // some keys ask for much more than others
				wg.Go(func() {
					for {
						end, err := all(ctx, inner, outer)
						if err != nil {
							return
						}
						end()
						mu.Lock()
						served[key]++
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		for _, n := range served {
			assert.InDelta(t, 150, n, 12, "%v", served)
		}
	})
}

func TestRandomSetsOfLimiters(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawProgram(r)
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = p.run(t) })
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

// In this program, five calls come to wait for each other's turn in a circle.
func TestCallsThatWaitForEachOtherAreTriedAgainLater(t *testing.T) {
	for range 20 { // which call comes first at an instant is chance
		p := rapid.Custom(drawProgram).Example(8296336512988528866)
		synctest.Test(t, func(t *testing.T) { assert.Empty(t, p.run(t)) })
	}
}

// program is random calls on random sets of random limiters.
type program struct {
	limits []throttle.Limits
	rules  [][]judge.Rule
	calls  []jointCall
}

type jointCall struct {
	at, lasts, patience time.Duration
	set                 []int
	cost                throttle.Cost
	end                 int // 0: release, 1: settle for less, 2: cancel
}

func drawProgram(r *rapid.T) program {
	var p program
	ms := func(label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(r, label)) * time.Millisecond
	}
	for range rapid.IntRange(1, 5).Draw(r, "limiters") {
		var l throttle.Limits
		var rules []judge.Rule
		if n := rapid.IntRange(0, 3).Draw(r, "slots"); n > 0 {
			l.Concurrency = n
			rules = append(rules, judge.Concurrency(int64(n)))
		}
		switch n, per := rapid.Int64Range(2, 6).Draw(r, "max"), time.Second+ms("per", 2000); rapid.IntRange(0, 3).Draw(r, "kind") {
		case 1:
			l.Windows = append(l.Windows, throttle.Sliding(n, per))
			rules = append(rules, judge.Sliding(0, n, per))
		case 2:
			l.Windows = append(l.Windows, throttle.Bucket(float64(n), n))
			rules = append(rules, judge.Bucket(0, n, time.Second, n))
		case 3:
			l.Windows = append(l.Windows, throttle.Sliding(n, per), throttle.Bucket(3, 2))
			rules = append(rules, judge.Sliding(0, n, per), judge.Bucket(0, 3, time.Second, 2))
		}
		p.limits, p.rules = append(p.limits, l), append(p.rules, rules)
	}
	for range rapid.IntRange(1, 40).Draw(r, "calls") {
		c := jointCall{
			at: ms("at", 5000), lasts: ms("lasts", 1500), end: rapid.IntRange(0, 2).Draw(r, "end"),
			cost: throttle.Cost{Requests: rapid.Int64Range(1, 2).Draw(r, "cost")},
			set:  rapid.Permutation(indices(len(p.limits))).Draw(r, "set"),
		}
		c.set = c.set[:rapid.IntRange(1, len(c.set)).Draw(r, "size")]
		if rapid.IntRange(0, 4).Draw(r, "impatient") == 0 {
			c.patience = 1 + ms("patience", 3000)
		}
		p.calls = append(p.calls, c)
	}
	return p
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// run makes all calls. A call without a deadline that is never admitted leaves
// the bubble deadlocked, which fails the test.
func (p program) run(t *testing.T) string {
	t.Helper()
	limiters := make([]*throttle.Limiter, len(p.limits))
	for i, l := range p.limits {
		limiters[i] = limited(t, l)
	}
	begin := time.Now()
	var mu sync.Mutex
	logs := make([][]judge.Entry, len(limiters))
	var wg sync.WaitGroup
	for _, c := range p.calls {
		wg.Go(func() {
			time.Sleep(c.at)
			ctx := context.Background()
			if c.patience > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.patience)
				defer cancel()
			}
			set := make([]*throttle.Limiter, len(c.set))
			for i, n := range c.set {
				set[i] = limiters[n]
			}
			permits := make([]throttle.Permit, len(set))
			var err error
			if len(set) == 1 && c.end != 0 {
				permits[0], err = set[0].Acquire(ctx, c.cost)
			} else {
				err = throttle.AcquireAll(ctx, set, c.cost, nil, permits)
			}
			if err != nil {
				if c.patience == 0 {
					t.Error(err)
				}
				return
			}
			at := time.Since(begin)
			time.Sleep(c.lasts)
			mu.Lock()
			defer mu.Unlock()
			for i, n := range c.set {
				switch c.end {
				case 0:
					permits[i].Release()
				case 1:
					permits[i].Settle(throttle.Cost{Requests: 1})
				case 2:
					permits[i].Cancel()
				}
				logs[n] = append(logs[n], judge.Entry{At: at, Weights: judge.Weights{c.cost.Requests}, Of: c.end},
					judge.Entry{At: time.Since(begin), Kind: judge.End})
			}
		})
	}
	wg.Wait()
	for i, l := range limiters {
		s := l.Stats()
		if s.InFlight != 0 || s.Waiting != 0 {
			return fmt.Sprintf("limiter %d: %d in flight, %d waiting", i, s.InFlight, s.Waiting)
		}
		if v := judged(logs[i], p.rules[i]); v != "" {
			return fmt.Sprintf("limiter %d, %v: %s", i, p.limits[i], v)
		}
	}
	return ""
}

// judged replays the pairs of admission and end in the order of time.
func judged(pairs []judge.Entry, rules []judge.Rule) string {
	type half struct {
		judge.Entry
		pair  int
		given int64 // by the end, of what was taken
	}
	var halves []half
	for i := 0; i < len(pairs); i += 2 {
		in, out := half{Entry: pairs[i], pair: i}, half{Entry: pairs[i+1], pair: i}
		switch in.Of {
		case 1:
			out.given = in.Weights[0] - 1
		case 2:
			out.given = in.Weights[0]
		}
		in.Of = 0
		halves = append(halves, in, out)
	}
	slices.SortStableFunc(halves, func(a, b half) int { // at one instant calls end before others begin
		return cmp.Or(cmp.Compare(a.At, b.At), -cmp.Compare(a.Kind, b.Kind))
	})
	var log []judge.Entry
	number := map[int]int{}
	for _, h := range halves {
		if _, in := number[h.pair]; in && h.Kind == judge.Admission {
			continue // it has ended at this instant
		} else if h.Kind == judge.Admission {
			number[h.pair] = len(log)
			log = append(log, h.Entry)
			continue
		}
		if _, in := number[h.pair]; !in { // it began and ended at this instant
			number[h.pair] = len(log)
			log = append(log, judge.Entry{At: h.At, Weights: pairs[h.pair].Weights})
		}
		if h.given > 0 {
			log = append(log, judge.Entry{At: h.At, Kind: judge.GiveBack, Of: number[h.pair], Weights: judge.Weights{h.given}})
		}
		log = append(log, judge.Entry{At: h.At, Kind: judge.End, Of: number[h.pair]})
	}
	if len(rules) == 0 {
		return ""
	}
	if err := judge.Judge(log, rules...).Err(); err != nil {
		return err.Error()
	}
	return ""
}

// Many goroutines on the same limiters: for the race detector.
func TestJointCallsInManyGoroutines(t *testing.T) {
	limiters := make([]*throttle.Limiter, 4)
	for i := range limiters {
		limiters[i] = limited(t, throttle.Limits{Concurrency: 1 + i, Windows: []throttle.Window{throttle.Sliding(1e6, time.Second)}})
	}
	var wg sync.WaitGroup
	for g := range 8 {
		random := rand.New(rand.NewPCG(1, uint64(g)))
		wg.Go(func() {
			for range 300 {
				set := slices.Clone(limiters)
				random.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
				end, err := all(context.Background(), set[:1+random.IntN(len(set))]...)
				if assert.NoError(t, err) {
					end()
				}
			}
		})
	}
	wg.Wait()
	for _, l := range limiters {
		assert.Zero(t, l.Stats().InFlight+l.Stats().Waiting)
	}
}
