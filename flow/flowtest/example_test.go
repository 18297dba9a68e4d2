package flowtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// Examples have no *testing.T. In a test this is the inside of synctest.Test,
// with flowtest.New(t), and times are virtual; see TestTheThirdCallIsRefused.
func Example() {
	rec := flowtest.New(nil)
	api := rec.NewProvider("api").For("b", flowtest.Refuse(time.Millisecond))
	ask := node.Map("ask", api.Call)
	answers, err := ask.All(rec.Context(), []string{"a", "b", "c"})
	fmt.Println(answers, err)
	fmt.Println(len(api.Calls()), "calls,", len(rec.Hits("ask")), "refused")
	fmt.Println(api.Calls().HeedRetryAfter(), api.Calls().OnceEach("a", "b", "c"))
	// Output:
	// [a b c] <nil>
	// 4 calls, 1 refused
	// <nil> <nil>
}

func ExampleProvider() {
	rec := flowtest.New(nil)
	api := rec.NewProvider("api", flowtest.OK().Body("hello")).
		At(2, flowtest.Fail(http.StatusBadRequest)).
		For("lost", flowtest.FailWith(io.ErrUnexpectedEOF)).
		OtherwiseFunc(func(c flowtest.Call) flowtest.Step { return flowtest.OK().Body(fmt.Sprint("call ", c.Seq)) })
	for _, key := range []string{"a", "b", "lost", "c"} {
		answer, err := api.Call(rec.Context(), key)
		fmt.Println(answer, err)
	}
	// Output:
	// hello <nil>
	//  status 400 Bad Request
	//  unexpected EOF
	// call 4 <nil>
}

// A provider is an http.RoundTripper too: put it under your client or SDK.
func ExampleProvider_RoundTrip() {
	rec := flowtest.New(nil)
	api := rec.NewProvider("api", flowtest.OK().Body("good morning"), flowtest.Refuse(1500*time.Millisecond))
	client := &http.Client{Transport: api}
	for range 2 {
		res, err := client.Get("https://api.example.com/v1/greeting")
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(res.Body)
		fmt.Printf("%d %q %v %q\n", res.StatusCode, body, err, res.Header.Get("Retry-After-Ms"))
		_ = res.Body.Close()
	}
	refused := api.Calls()[1]
	fmt.Println(refused.Key, refused.Attempt, refused.Outcome, refused.RetryAfter)
	// Output:
	// 200 "good morning" <nil> ""
	// 429 "" <nil> "1500"
	// GET /v1/greeting 2 refused 1.5s
}

// Calls is a plain value with methods that judge it.
func ExampleCalls() {
	const s = time.Second
	calls := flowtest.Calls{
		{Provider: "api", Key: "a", Start: 0, End: 2 * s, Outcome: flowtest.Answered},
		{Provider: "api", Key: "b", Start: 1 * s, End: 1 * s, Outcome: flowtest.Refused, RetryAfter: 5 * s},
		{Provider: "api", Key: "b", Start: 4 * s, End: 5 * s, Outcome: flowtest.Answered, Attempt: 2, Waited: 3 * s},
	}
	fmt.Println(calls.MaxIn(2*s), "in 2s,", calls.MaxInFlight(), "in flight")
	fmt.Println(calls.HeedRetryAfter())
	fmt.Println(calls.OnceEach("a", "b"))
	// Output:
	// 2 in 2s, 2 in flight
	// flowtest: 1 calls between +1s and +6s, none should be
	// +4s  call api b, attempt 2 after 3s: ok, took 1s
	//
	// after a refusal at +1s: call api b: refused, retry after 5s
	// <nil>
}

func ExampleRecord_Steps() {
	rec := flowtest.New(nil)
	draft := node.Do("draft", func(context.Context, int) error { return nil })
	review := node.Decide("review", func(context.Context, int) (node.Action, error) {
		if len(rec.Steps("letter")) < 3 {
			return "revise", nil
		}
		return node.Next, nil
	})
	_, err := flow.Run(rec.Context(), flow.New("letter", draft).Then(review).On(review, "revise", draft).End(review, node.Next), 0)
	fmt.Println(rec.Steps("letter"), err)
	// Output:
	// [draft review draft review] <nil>
}

func ExampleEvents() {
	events := flowtest.Events{
		{At: time.Second, Event: event.Event{Kind: event.LimiterHit, Source: "api", Wait: 20 * time.Second}},
		{At: time.Second, Event: event.Event{Kind: event.LimiterCut, Source: "api", From: 8, To: 4}},
	}
	fmt.Print(events.Of("api").Kinds(event.LimiterCut))
	// Output:
	// +1s  limiter api: cut from 8 to 4
}

// The process is killed when the answer to its second call is there and not yet
// recorded. The next one asks again.
func ExampleProcess() {
	rec := flowtest.New(nil)
	kept := journal.NewMemory()
	first := rec.NewProcess(kept)
	api := rec.NewProvider("api").At(2, flowtest.OK().Do(first.Kill))
	for _, process := range []*flowtest.Process{first, rec.NewProcess(kept)} {
		answers, err := node.Map("ask", api.Call).WithJournal(process.Journal()).
			All(process.Context(), []string{"a", "b", "c"})
		if errors.Is(err, flowtest.ErrKilled) {
			fmt.Println("killed")
			continue
		}
		fmt.Println(answers, err, len(api.Calls().Of("b")), "calls about b")
	}
	// Output:
	// killed
	// [a b c] <nil> 2 calls about b
}

// The items come to the workers one after the other, so that a timeline is the
// same in every run.
func ExampleInOrder() {
	for item, err := range flowtest.InOrder("a", "b", "c") {
		fmt.Print(item, " ", err, " ")
	}
	// Output: a <nil> b <nil> c <nil>
}
