// Shared limiter: two nodes of one flow that call the same provider.
//
// A provider counts requests and tokens for an account, whichever part of a
// program sends them. So there is one guard.Guard for the provider, and
// every node that calls it is within that guard: they share both windows, and
// a 429 that one of them meets slows down the other as well. The report lists the
// guard once, under its own name.
//
//	go run ./examples/sharedlimiter
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// State is what the flow works on: each node replaces the texts by the answers.
type State struct{ Texts []string }

// window is short for an example; providers count per minute.
const window = 100 * time.Millisecond

// Provider is an account: its guard, and a fake that refuses the second call.
type Provider struct {
	guard *guard.Guard
	calls atomic.Int64
}

func (p *Provider) call(answer func(string) string) func(context.Context, string) (string, error) {
	return func(_ context.Context, text string) (string, error) {
		if p.calls.Add(1) == 2 {
			return "", &adaptive.RateLimitHit{RetryAfter: 10 * time.Millisecond}
		}
		return answer(text), nil
	}
}

// batch makes a node that has each of the texts answered.
func batch(name string, p *Provider, answer func(string) string) *node.Batch[*State, string, string] {
	return node.Each(name,
		func(s *State) []string { return s.Texts },
		p.call(answer),
		func(s *State, answers []string) { s.Texts = answers }).
		WithParallel(4).
		Within(p.guard).
		WithCost(func(text string) throttle.Cost { return throttle.Cost{Input: int64(len(text) / 4), Output: 20} })
}

func main() {
	shared, err := guard.New(guard.Policy{
		Name:   "provider",
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(6, window), throttle.Sliding(500, window).Of(throttle.Tokens)}},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	provider := &Provider{guard: shared}
	title := batch("title", provider, func(text string) string { return strings.Fields(text)[0] })
	shout := batch("shout", provider, strings.ToUpper)
	s := &State{Texts: []string{"rivers run downhill", "gates open slowly", "wheels turn", "mills grind corn"}}
	report, err := flow.Run(context.Background(), flow.New("titles", title).Then(shout), s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Texts)
	fmt.Println(report.Nodes["title"].Done, "titles and", report.Nodes["shout"].Done, "shouts, in", provider.calls.Load(), "calls")
	fmt.Println("more than the 6 that fit one window, so it waited:", report.Elapsed >= window)
	fmt.Println(len(report.Limiters), "limiter:", report.Limiters["provider"].Hits, "refusal,", report.Limiters["provider"].Cuts, "cut")
}
