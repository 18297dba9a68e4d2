package node_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// Review is the state of the examples: what their nodes read and write.
type Review struct {
	Texts  []string
	Scores []int
	Notes  []string
}

// score stands for a call of a provider.
func score(_ context.Context, text string) (int, error) {
	if text == "" {
		return 0, errors.New("nothing to score")
	}
	return len(text), nil
}

// A function over a list is all that it takes. The results have the order of
// the input, however many workers there are.
func Example() {
	scores := node.Map("score", score).
		WithParallel(8).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(500, time.Minute)}}).
		WithRetry(retry.Policy{})
	out, err := scores.All(context.Background(), []string{"good", "better", "best"})
	fmt.Println(out, err)
	// Output: [4 6 4] <nil>
}

// One item that fails does not stop the others. The error says how many
// failed and why, and the values are there all the same.
func ExampleMap() {
	out, err := node.Map("score", score).All(context.Background(), []string{"good", "", "best"})
	fmt.Println(out)
	fmt.Println(err)
	// Output:
	// [4 0 4]
	// node "score": 1 of 3 items failed; first: item 1: nothing to score
}

// Stream works on an input of any length within a bounded window. An item's
// error is in its result; the error beside it is that of the run.
func ExampleBatch_Stream() {
	squares := node.Map("square", func(_ context.Context, i int) (int, error) { return i * i, nil }).WithParallel(4)
	naturals := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	}
	for r, err := range squares.Stream(context.Background(), node.Seq(naturals)) {
		if err != nil {
			fmt.Println("the run ended early:", err)
			return
		}
		if r.Err != nil {
			fmt.Println("item", r.Index, "failed:", r.Err)
			continue
		}
		if r.Out > 20 {
			break // stops the run; nothing is left running
		}
		fmt.Print(r.Out, " ")
	}
	// Output: 0 1 4 9 16
}

// A batch reads its items from the shared state and puts the results back.
// Only prep and post see the state, so parallel items share nothing by accident.
func ExampleBatchFunc() {
	batch := node.BatchFunc("score",
		func(_ context.Context, r *Review) (iter.Seq2[string, error], error) {
			return node.Slice(r.Texts), nil
		},
		score,
		func(_ context.Context, r *Review, report *node.Report[string, int]) (node.Action, error) {
			r.Scores = report.Values()
			if report.Counts().Failed > 0 {
				return "repair", nil
			}
			return node.Next, nil
		}).WithParallel(2)

	review := &Review{Texts: []string{"good", ""}}
	action, err := batch.Run(context.Background(), review)
	fmt.Printf("%q %v %v\n", action, err, review.Scores)
	// Output: "repair" <nil> [4 0]
}

// Scorer is a batch's code as a type.
type Scorer struct {
	node.Defaults[*Review, string, int] // a Post that fails if any item does
	Bonus                               int
}

var _ node.BatchHandler[*Review, string, int] = (*Scorer)(nil)

func (*Scorer) Prep(_ context.Context, r *Review) (iter.Seq2[string, error], error) {
	return node.Slice(r.Texts), nil
}

func (s *Scorer) Exec(_ context.Context, text string) (int, error) { return len(text) + s.Bonus, nil }

func (*Scorer) Post(_ context.Context, r *Review, report *node.Report[string, int]) (node.Action, error) {
	r.Scores = report.Values()
	return node.Next, report.Err()
}

// Validate is one of the methods that a handler may have besides.
func (s *Scorer) Validate() error {
	if s.Bonus < 0 {
		return errors.New("the bonus is negative")
	}
	return nil
}

func ExampleNewBatch() {
	batch := node.NewBatch("score", &Scorer{Bonus: 10})
	review := &Review{Texts: []string{"good", "better"}}
	_, err := batch.Run(context.Background(), review)
	fmt.Println(review.Scores, err)

	_, err = node.NewBatch("score", &Scorer{Bonus: -1}).Run(context.Background(), review)
	fmt.Println(err)
	// Output:
	// [14 16] <nil>
	// the bonus is negative
}

func ExampleFunc() {
	check := node.Decide("check", func(_ context.Context, r *Review) (node.Action, error) {
		if len(r.Texts) == 0 {
			return "empty", nil
		}
		return node.Next, nil
	})
	action, err := check.Run(context.Background(), &Review{})
	fmt.Printf("%q %v\n", action, err)
	// Output: "empty" <nil>
}

// A plain step has limits, retries and a fallback as a batch has them.
func ExampleDo() {
	calls := 0
	summary := node.Do("summary", func(_ context.Context, r *Review) error {
		if calls++; calls < 3 {
			return errors.New("bad gateway")
		}
		r.Notes = append(r.Notes, "summary")
		return nil
	}).
		With(guard.Policy{Limits: throttle.Limits{Concurrency: 4}, Timeout: 30 * time.Second}).
		WithRetry(retry.Policy{Initial: time.Millisecond})
	review := &Review{}
	_, err := summary.Run(context.Background(), review)
	fmt.Println(review.Notes, err, "after", calls, "attempts")
	// Output: [summary] <nil> after 3 attempts
}

// Every item has its own attempts. What need not be repeated is named.
func ExampleBatch_WithRetry() {
	errNoSuchUser := errors.New("no such user")
	attempts := map[string]int{}
	lookup := node.Map("lookup", func(_ context.Context, name string) (int, error) {
		attempts[name]++ // one at a time, without WithParallel
		switch {
		case name == "nobody":
			return 0, errNoSuchUser
		case attempts[name] < 3:
			return 0, errors.New("connection reset")
		}
		return len(name), nil
	}).WithRetry(retry.Policy{MaxAttempts: 3, Initial: time.Millisecond, Except: []error{errNoSuchUser}})
	out, err := lookup.All(context.Background(), []string{"ann", "nobody", "bob"})
	fmt.Println(out, err)
	fmt.Println(attempts)
	// Output:
	// [3 0 3] node "lookup": 1 of 3 items failed; first: item 1: no such user
	// map[ann:3 bob:3 nobody:1]
}

func ExampleBatch_WithFallback() {
	out, err := node.Map("score", score).
		WithFallback(func(_ context.Context, text string, err error) (int, error) {
			fmt.Printf("%q: %v\n", text, err)
			return -1, nil
		}).
		All(context.Background(), []string{"good", ""})
	fmt.Println(out, err)
	// Output:
	// "": nothing to score
	// [4 -1] <nil>
}

// Without WithOnError all items are worked on. FailFast stops at the first
// that fails; the rest are pending, which is not failed.
func ExampleBatch_WithOnError() {
	out, err := node.Map("score", score).
		WithOnError(node.FailFast()).
		All(context.Background(), []string{"good", "", "best", "better"})
	fmt.Println(out)

	if failed, ok := errors.AsType[*node.BatchError](err); ok {
		fmt.Printf("%d done, %d failed, %d pending\n", failed.Counts.Done, failed.Counts.Failed, failed.Counts.Pending)
	}
	var many *node.TooManyFailuresError
	fmt.Println(errors.As(err, &many))
	// Output:
	// [4 0 0 0]
	// 1 done, 1 failed, 2 pending
	// true
}

func ExampleMaxFailures() {
	_, err := node.Map("score", score).
		WithOnError(node.MaxFailures(1)).
		All(context.Background(), []string{"", "", "good"})
	fmt.Println(err)
	// Output:
	// node "score": 2 of 3 items failed, 1 pending, 0 done, stopped: node: 2 items failed and 1 are allowed, at last: nothing to score; first: item 0: nothing to score
}

// Nodes that call the same provider are within one guard, and share its quota.
// Limits of a node apply as well.
func ExampleBatch_Within() {
	provider, err := guard.New(guard.Policy{
		Name:   "provider",
		Limits: throttle.Limits{Concurrency: 2, Windows: []throttle.Window{throttle.Sliding(500, time.Minute)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores := node.Map("score", score).WithParallel(8).Within(provider)
	lengths := node.Map("upper", func(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }).
		WithParallel(8).Within(provider).WithLimits(throttle.Limits{Concurrency: 1})

	ctx := context.Background()
	fmt.Println(scores.All(ctx, []string{"good", "best"}))
	fmt.Println(lengths.All(ctx, []string{"good", "best", "better"}))
	fmt.Println("calls:", provider.Stats().Admitted)
	// Output:
	// [4 4] <nil>
	// [GOOD BEST BETTER] <nil>
	// calls: 5
}

// A rate-limit response is not a failure: the item waits and is sent again. A
// detector recognises it where the default one cannot.
func ExampleBatch_With_detector() {
	errSlowDown := errors.New("E1042")
	refused := false
	m := node.Map("call", func(_ context.Context, i int) (int, error) {
		if i == 2 && !refused {
			refused = true
			return 0, errSlowDown
		}
		return i, nil
	}).With(guard.Policy{Detector: func(err error) adaptive.Feedback {
		if errors.Is(err, errSlowDown) {
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 10 * time.Millisecond}
		}
		return adaptive.Feedback{} // the default detector is asked
	}})
	out, err := m.All(context.Background(), []int{1, 2, 3})
	fmt.Println(out, err)
	fmt.Println("hits:", m.Guard().Stats().View.Hits)
	// Output:
	// [1 2 3] <nil>
	// hits: 1
}

func ExampleBatch_With_law() {
	m := node.Map("call", score).WithParallel(16).With(guard.Policy{Law: adaptive.AIMD{Initial: 2, Max: 16}})
	out, err := m.All(context.Background(), []string{"good", "best"})
	fmt.Println(out, err)
	fmt.Println(m.Guard().Stats().View.Concurrency, "at once")
	// Output:
	// [4 4] <nil>
	// 2 at once
}

// What an item may cost is reserved before it is sent, and corrected by what
// it did cost. One that can never fit fails alone.
func ExampleBatch_WithCost() {
	m := node.Map("complete", func(_ context.Context, prompt string) (string, error) { return prompt + "!", nil }).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)}}).
		WithCost(func(prompt string) throttle.Cost { return throttle.Cost{Input: int64(len(prompt)), Output: 500} }).
		WithUsed(func(prompt, answer string) throttle.Cost {
			return throttle.Cost{Input: int64(len(prompt)), Output: int64(len(answer))}
		})
	out, err := m.All(context.Background(), []string{"hello", strings.Repeat("x", 600), "bye"})
	fmt.Println(out[0], out[2])
	var cost *throttle.CostError
	fmt.Println(errors.As(err, &cost), cost.Amount, "of", cost.Max)
	// Output:
	// hello! bye!
	// true 1100 of 1000
}

// The items of the outer batch are batches. A refusal inside lowers how many
// of them run at the same time; no item fails because of it.
func ExampleBatch_With_propagate() {
	refused := false
	pages := node.Map("pages", func(_ context.Context, page string) (int, error) {
		if !refused {
			refused = true
			return 0, &adaptive.RateLimitHit{RetryAfter: 10 * time.Millisecond}
		}
		return len(page), nil
	}).With(guard.Policy{Propagate: true})
	books := node.Map("books", func(ctx context.Context, book string) (int, error) {
		lengths, err := pages.All(ctx, strings.Fields(book))
		total := 0
		for _, n := range lengths {
			total += n
		}
		return total, err
	}).With(guard.Policy{Law: adaptive.AIMD{Initial: 8}})
	out, err := books.All(context.Background(), []string{"a bc", "def"})
	fmt.Println(out, err)
	fmt.Println("books at once:", books.Guard().Stats().View.Concurrency)
	// Output:
	// [3 3] <nil>
	// books at once: 4
}

// A line that cannot be read is one failed item; the others go on.
func ExampleJSONL() {
	type request struct {
		Prompt string `json:"prompt"`
	}
	file := strings.NewReader(`{"prompt": "hello"}
{"prompt": 7}

{"prompt": "bye"}
`)
	m := node.Map("length", func(_ context.Context, r request) (int, error) { return len(r.Prompt), nil })
	for r, err := range m.Stream(context.Background(), node.JSONL[request](file)) {
		var bad *node.InputError
		switch {
		case err != nil:
			fmt.Println("the run ended early:", err)
		case errors.As(r.Err, &bad):
			fmt.Println("line", bad.Line, "is", r.State)
		default:
			fmt.Println(r.In.Prompt, r.Out, r.State)
		}
	}
	// Output:
	// hello 5 done
	// line 2 is failed
	// bye 3 done
}

func ExampleReport() {
	batch := node.BatchFunc("score",
		func(_ context.Context, r *Review) (iter.Seq2[string, error], error) { return node.Slice(r.Texts), nil },
		score,
		func(_ context.Context, _ *Review, report *node.Report[string, int]) (node.Action, error) {
			fmt.Println(report.Values())
			for item := range report.Failed() {
				fmt.Printf("%s %s after %d attempt: %v\n", item.Key, item.State, item.Attempts, item.Err)
			}
			return node.Next, report.Err()
		}).
		WithKey(func(text string) string { return fmt.Sprintf("%q", text) })
	_, err := batch.Run(context.Background(), &Review{Texts: []string{"good", "", "best"}})
	fmt.Println(err)
	// Output:
	// [4 0 4]
	// "" failed after 1 attempt: nothing to score
	// node "score": 1 of 3 items failed; first: item 1: nothing to score
}

// errors.Is and errors.As look into the first failures.
func ExampleBatchError() {
	errEmpty := errors.New("empty")
	_, err := node.Map("check", func(_ context.Context, s string) (int, error) {
		if s == "" {
			return 0, errEmpty
		}
		return 0, nil
	}).All(context.Background(), []string{"", "a", ""})
	var failed *node.BatchError
	fmt.Println(errors.As(err, &failed), errors.Is(err, errEmpty))
	fmt.Println(failed.Node, failed.Counts.Failed, failed.First[1])
	// Output:
	// true true
	// check 2 item 2: empty
}

// The timeout of an item counts from its admission, not from when it began to
// wait for its turn.
func ExampleBatch_WithTimeout() {
	_, err := node.Map("call", func(ctx context.Context, _ int) (int, error) {
		<-ctx.Done() // a provider that does not answer
		return 0, ctx.Err()
	}).WithTimeout(10*time.Millisecond).All(context.Background(), []int{1})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// All problems of a chain are reported together, before anything is sent.
func ExampleBatch_Validate() {
	err := node.Map("score", score).WithParallel(0).WithTimeout(-time.Second).Validate()
	fmt.Println(err)
	var field *fault.FieldError
	fmt.Println(errors.As(err, &field), field.Field)
	// Output:
	// node "score": WithParallel: 0 is below 1
	// node "score": WithTimeout: -1s is not a positive duration: leave the setting out for no timeout
	// true WithParallel
}

// Cancelling ends the intake. What is running has the grace period to finish;
// the rest is pending.
func ExampleBatch_WithGrace() {
	ctx, cancel := context.WithCancel(context.Background())
	m := node.Map("call", func(ctx context.Context, _ int) (string, error) {
		cancel()
		return fmt.Sprint("interrupted: ", ctx.Err() != nil), nil
	}).WithGrace(time.Minute)
	out, err := m.All(ctx, []int{1, 2, 3})
	fmt.Printf("%q\n", out)
	fmt.Println(err)
	// Output:
	// ["interrupted: false" "" ""]
	// node "call": 0 of 3 items failed, 2 pending, 1 done, stopped: context canceled
}

// Observers in the context hear of every item.
func ExampleBatch_Run_events() {
	ctx := event.With(context.Background(), event.Func(func(e event.Event) {
		if e.Index != event.NoIndex {
			fmt.Println(e.Kind, e.Index, e.Err)
		}
	}))
	_, _ = node.Map("score", score).All(ctx, []string{"good", ""})
	// Output:
	// item.done 0 <nil>
	// item.failed 1 nothing to score
}

func ExampleBatch_Unordered() {
	slow := make(chan struct{})
	m := node.Map("call", func(_ context.Context, i int) (int, error) {
		if i == 0 {
			<-slow
		}
		return i, nil
	}).WithParallel(2).WithWindow(3).Unordered()
	for r, err := range m.Stream(context.Background(), node.Slice([]int{0, 1, 2})) {
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(r.Out, " ")
		if r.Out == 2 {
			close(slow)
		}
	}
	// Output: 1 2 0
}
