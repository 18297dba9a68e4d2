package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Code that knows the provider returns a RateLimitHit for a rejected call.
func ExampleRateLimitHit() {
	api, _ := guard.New(guard.Policy{Name: "search"})
	err := api.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		return fmt.Errorf("page 3: %w", &adaptive.RateLimitHit{
			Kind:       adaptive.KindRequests,
			RetryAfter: time.Hour, // beyond what a call waits out, so that it is an error
			Cause:      errors.New("come back later"),
		})
	})
	if hit, ok := errors.AsType[*adaptive.RateLimitHit](err); ok {
		fmt.Println(hit.Scope, hit.Kind, hit.RetryAfter)
	}
	// Output: search requests 1h0m0s
}

// The controller is a machine without a clock: a test can drive it.
func ExampleAIMD() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	state, err := adaptive.AIMD{Initial: 8, RecoveryThreshold: 3}.Start(now, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	seq := int64(0)
	answers := func(n int, v adaptive.Verdict) {
		sent := make([]throttle.Sent, n)
		for i := range sent {
			seq++
			sent[i] = throttle.Sent{Seq: seq, At: now}
			state.OnSend(now, sent[i])
		}
		now = now.Add(time.Second)
		for _, s := range sent {
			state.OnResult(now, s, 0, adaptive.Feedback{Verdict: v})
		}
		fmt.Printf("%d x %s: %d in flight\n", n, v, state.View().Concurrency)
	}
	answers(8, adaptive.Hit) // one burst, one cut
	answers(3, adaptive.OK)
	answers(3, adaptive.OK)
	// Output:
	// 8 x hit: 4 in flight
	// 3 x ok: 5 in flight
	// 3 x ok: 6 in flight
}

func ExampleAIMD_Validate() {
	fmt.Println(adaptive.AIMD{Min: 10, Max: 5, Backoff: 1.5}.Validate())
	// Output:
	// adaptive: AIMD: Max: 5 is below Min, which is 10
	// adaptive: AIMD: Backoff: 1.5 is not between 0 and 1
}

// A detector says what this provider's rejections look like. For
// what it does not know, DefaultDetector is asked.
func ExampleDetector() {
	var detector adaptive.Detector = func(err error) adaptive.Feedback {
		if strings.Contains(err.Error(), "EDQUOT") {
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 2 * time.Second, Source: "EDQUOT"}
		}
		return adaptive.Feedback{}
	}
	for _, text := range []string{"EDQUOT: slow down", "429 Too Many Requests", "no such file"} {
		f := adaptive.Classify(detector, errors.New(text))
		fmt.Println(f.Verdict, f.RetryAfter)
	}
	// Output:
	// hit 2s
	// hit 0s
	// unclassified 0s
}

// OneByOne is a custom law: after the first rejection, one call at a time.
type OneByOne struct{}

// Start implements adaptive.Law.
func (OneByOne) Start(time.Time, uint64) (adaptive.State, error) { return &oneByOne{}, nil }

type oneByOne struct{ view adaptive.View }

func (s *oneByOne) Admit(_ time.Time, _ throttle.Cost, inFlight int) time.Duration {
	if most := s.view.Concurrency; most > 0 && inFlight >= most {
		return throttle.Forever // until a call ends
	}
	return 0
}

func (s *oneByOne) OnResult(_ time.Time, _ throttle.Sent, _ int, f adaptive.Feedback) {
	if f.Verdict == adaptive.Hit {
		s.view.Concurrency = 1
		s.view.Hits++
	}
}

func (s *oneByOne) OnSignal(time.Time, *adaptive.RateLimitHit) { s.view.Concurrency = 1 }
func (s *oneByOne) Slack(time.Time)                            {}
func (s *oneByOne) OnSend(time.Time, throttle.Sent)            {}
func (s *oneByOne) View() adaptive.View                        { return s.view }

func ExampleLaw() {
	api, _ := guard.New(guard.Policy{Law: OneByOne{}})
	refused := false
	err := api.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if !refused {
			refused = true
			return &adaptive.RateLimitHit{}
		}
		return nil
	})
	fmt.Println(err, api.Stats().View.Concurrency)
	// Output: <nil> 1
}
