package node_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// What need not be repeated is marked where it arises, or named in Except.
func ExampleStep_WithRetry() {
	calls := 0
	login := node.Do("login", func(context.Context, *Review) error {
		if calls++; calls == 1 {
			return errors.New("connection reset") // tried again
		}
		return retry.Permanent(errors.New("wrong password"))
	}).WithRetry(retry.Policy{MaxAttempts: 5, Initial: time.Millisecond})
	_, err := login.Run(context.Background(), &Review{})
	fmt.Println(err, "after", calls, "attempts")
	// Output: wrong password after 2 attempts
}

// The fallback of a step picks the way on: here to a node for the bad case.
func ExampleStep_WithFallback() {
	ask := node.Do("ask", func(context.Context, *Review) error { return errors.New("no answer") }).
		WithFallback(func(_ context.Context, r *Review, err error) (node.Action, error) {
			r.Notes = append(r.Notes, "gave up: "+err.Error())
			return "manual", nil
		})
	review := &Review{}
	action, err := ask.Run(context.Background(), review)
	fmt.Printf("%q %v %q\n", action, err, review.Notes)
	// Output: "manual" <nil> ["gave up: no answer"]
}

// Every attempt has the whole timeout, and one that runs into it is tried again.
func ExampleStep_With_timeout() {
	calls := 0
	fetch := node.Do("fetch", func(ctx context.Context, _ *Review) error {
		if calls++; calls == 1 {
			<-ctx.Done() // a provider that does not answer
			return ctx.Err()
		}
		return nil
	}).With(guard.Policy{Timeout: 10 * time.Millisecond}).WithRetry(retry.Policy{Initial: time.Millisecond})
	_, err := fetch.Run(context.Background(), &Review{})
	fmt.Println(err, "after", calls, "attempts")
	// Output: <nil> after 2 attempts
}

// Two failures in a row open the breaker, and the third item is not sent. With
// WithRetry it would be sent after the time that is left.
func ExampleBatch_With_breaker() {
	fetch := node.Map("fetch", func(context.Context, string) (string, error) {
		return "", errors.New("connection refused")
	}).With(guard.Policy{Breaker: &breaker.Config{Failures: 2}, Clock: clockwork.NewFakeClock()})
	for res, err := range fetch.Stream(context.Background(), node.Slice([]string{"a", "b", "c"})) {
		if err != nil {
			panic(err)
		}
		if open, ok := errors.AsType[*breaker.OpenError](res.Err); ok {
			fmt.Println(res.In, "was not sent, attempts:", res.Attempts, "time left:", open.RetryAfter)
			continue
		}
		fmt.Println(res.In, res.Err)
	}
	// Output:
	// a connection refused
	// b connection refused
	// c was not sent, attempts: 0 time left: 10s
}

// A step without a retry policy fails with the error of the open breaker.
func ExampleStep_With_breaker() {
	ask := node.Do("ask", func(context.Context, *Review) error { return errors.New("no answer") }).
		With(guard.Policy{Breaker: &breaker.Config{Failures: 1}, Clock: clockwork.NewFakeClock()})
	for range 2 {
		_, err := ask.Run(context.Background(), &Review{})
		fmt.Println(err)
	}
	// Output:
	// no answer
	// breaker: "ask": open, retry after 10s; it opened because of: no answer
}

// Prompts is a handler that says more about its items.
type Prompts struct{}

var _ node.BatchHandler[*Review, string, int] = Prompts{}

// Prep, Exec and Post are what every handler has.
func (Prompts) Prep(_ context.Context, r *Review) (iter.Seq2[string, error], error) {
	return node.Slice(r.Texts), nil
}

func (Prompts) Exec(ctx context.Context, text string) (int, error) { return score(ctx, text) }

func (Prompts) Post(_ context.Context, _ *Review, report *node.Report[string, int]) (node.Action, error) {
	for item := range report.All() {
		fmt.Println(item.Key, item.State, item.Out)
	}
	return node.Next, report.Err()
}

// Key names an item in results and events.
func (Prompts) Key(text string) string { return fmt.Sprintf("text-%q", text) }

// Cost is reserved before the call, Used is what it came to.
func (Prompts) Cost(string) throttle.Cost { return throttle.Cost{Tokens: 400} }

func (Prompts) Used(_ string, out int) throttle.Cost {
	return throttle.Cost{Tokens: int64(out)}
}

// Fallback is asked once all attempts have failed.
func (Prompts) Fallback(context.Context, string, error) (int, error) { return -1, nil }

// The optional methods of a handler do what the settings of the same name do.
func ExampleBatchHandler() {
	batch := node.NewBatch("score", Prompts{}).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Hour).Of(throttle.Tokens)}})
	_, err := batch.Run(context.Background(), &Review{Texts: []string{"good", "", "better"}})
	fmt.Println(err)
	// Output:
	// text-"good" done 4
	// text-"" done -1
	// text-"better" done 6
	// <nil>
}

// Marked is a handler with missing results that cannot be mistaken for a score of 0.
type Marked struct{ Scorer }

func (*Marked) Exec(ctx context.Context, text string) (int, error) { return score(ctx, text) }

// Unfinished is optional: it stands for a result that is missing.
func (*Marked) Unfinished(string) int { return -1 }

func ExampleBatchHandler_unfinished() {
	review := &Review{Texts: []string{"good", "", "best"}}
	_, err := node.NewBatch("score", &Marked{}).Run(context.Background(), review)
	fmt.Println(review.Scores)
	fmt.Println(err) // it failed all the same: Unfinished is no fallback
	// Output:
	// [4 -1 4]
	// node "score": 1 of 3 items failed; first: item 1: nothing to score
}

// What was reserved too much goes back to the window for the next item.
func ExampleBatch_WithUsed() {
	m := node.Map("complete", func(_ context.Context, prompt string) (string, error) { return prompt + "!", nil }).
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Hour).Of(throttle.Tokens)}}).
		WithCost(func(string) throttle.Cost { return throttle.Cost{Tokens: 900} }). // the most it can be
		WithUsed(func(_, answer string) throttle.Cost { return throttle.Cost{Tokens: int64(len(answer))} })
	out, err := m.All(context.Background(), []string{"one", "two", "three"}) // 900 fits only once an hour
	fmt.Println(out, err)
	fmt.Println(m.Guard().Stats().Windows[0].Left, "tokens are left")
	// Output:
	// [one! two! three!] <nil>
	// 986 tokens are left
}

// The error of a run that its policy stopped tells how many failures there
// were, and which was one too many.
func ExampleTooManyFailuresError() {
	_, err := node.Map("score", score).
		WithOnError(node.MaxFailures(1)).
		All(context.Background(), []string{"", "good", "", "best"})
	if many, ok := errors.AsType[*node.TooManyFailuresError](err); ok {
		fmt.Println(many.Failures, "failed,", many.Allowed, "allowed, at last:", many.Last)
	}
	// Output: 2 failed, 1 allowed, at last: nothing to score
}

// What a stopped run leaves is pending and not failed: it is what to do next
// time. Without grace a running item ends at once and is pending too.
func ExampleReport_Pending() {
	ctx, cancel := context.WithCancel(context.Background())
	batch := node.BatchFunc("score",
		func(_ context.Context, r *Review) (iter.Seq2[string, error], error) { return node.Slice(r.Texts), nil },
		func(ctx context.Context, text string) (int, error) {
			if text == "better" {
				cancel() // Ctrl-C was pressed
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return score(ctx, text)
		},
		func(_ context.Context, _ *Review, report *node.Report[string, int]) (node.Action, error) {
			for item := range report.Pending() {
				fmt.Println(item.Index, item.In, item.State, item.Err)
			}
			fmt.Println(report.Counts().Done, "done,", report.Counts().Failed, "failed")
			return node.Next, nil
		}).WithGrace(0)
	_, err := batch.Run(ctx, &Review{Texts: []string{"good", "better"}})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// 1 better pending context canceled
	// 1 done, 0 failed
	// true
}

// Learning starts from the preset. WithLimits adds hard limits.
func ExampleBatch_WithPreset() {
	m := node.Map("score", score).WithParallel(8).
		WithPreset(presets.GenericModerate). // a rule to keep: 60 a minute, 5 at once
		WithLimits(throttle.Limits{Windows: []throttle.Window{throttle.Sliding(2, time.Second)}})
	fmt.Println(m.Guard().Stats().Limits)

	err := node.Map("score", score).WithPreset("openai/teir1").Validate()
	if unknown, ok := errors.AsType[*presets.UnknownError](err); ok {
		fmt.Println(unknown.Name, "may have meant", unknown.Near[0])
	}
	// Output:
	// 2/s, 60/min, 5 concurrent
	// openai/teir1 may have meant openai/tier1
}

// calm is the dialect of a server that says "enhance your calm" with a status of its own.
type calm struct{}

func (calm) Name() string { return "calm" }

func (calm) Read(now time.Time, status int, h http.Header, body []byte) adaptive.Feedback {
	f := dialect.Generic.Read(now, status, h, body)
	if seconds, err := strconv.ParseFloat(h.Get("X-Calm"), 64); status == 420 && err == nil {
		f.Verdict, f.RetryAfter = adaptive.Hit, time.Duration(seconds*float64(time.Second))
	}
	return f
}

func (calm) Estimate(r *http.Request, body []byte) throttle.Cost {
	return dialect.Generic.Estimate(r, body)
}

// A dialect reads the responses that errors carry. This one extends another.
func ExampleBatch_With_dialect() {
	sent := 0
	m := node.Map("score", func(ctx context.Context, text string) (int, error) {
		if sent++; sent == 1 {
			return 0, told(420, "enhance your calm", "X-Calm", "0.01")
		}
		return score(ctx, text)
	}).With(guard.Policy{Dialect: calm{}})
	out, err := m.All(context.Background(), []string{"good"})
	fmt.Println(out, err, "after", sent, "requests")
	// Output: [4] <nil> after 2 requests
}
