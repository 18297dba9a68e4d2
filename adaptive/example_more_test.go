package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Frugal is AIMD that also listens to what the responses say is left.
type Frugal struct{ adaptive.AIMD }

// Start implements adaptive.Law.
func (l Frugal) Start(now time.Time, seed uint64) (adaptive.State, error) {
	state, err := l.AIMD.Start(now, seed)
	return &frugal{State: state}, err
}

type frugal struct {
	adaptive.State
	next time.Time // when requests are there again
}

func (s *frugal) Admit(now time.Time, c throttle.Cost, inFlight int) time.Duration {
	return max(s.State.Admit(now, c, inFlight), s.next.Sub(now))
}

func (s *frugal) OnResult(now time.Time, sent throttle.Sent, inFlight int, f adaptive.Feedback) {
	s.State.OnResult(now, sent, inFlight, f)
	if m := f.Meters[throttle.Requests]; m.Known && m.Remaining == 0 {
		s.next = now.Add(m.Reset)
	}
}

// allowed reports whether a call is admitted now.
func allowed(api *guard.Guard) bool {
	return api.Try(context.Background(), throttle.Cost{}, func(context.Context) error { return nil }) == nil
}

// A meter is what a response's headers say about one unit. Report hands it to
// the controller, which may act before any rejection.
func ExampleMeter() {
	api, _ := guard.New(guard.Policy{Name: "openai", Law: Frugal{}})
	for _, remaining := range []int64{1, 0} { // X-Ratelimit-Remaining-Requests
		err := api.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
			var f adaptive.Feedback // without a verdict: the detectors judge the error
			f.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 500, Remaining: remaining, Reset: time.Hour}
			guard.Report(ctx, f)
			return nil
		})
		fmt.Println(err, api.Stats().View.Hits, allowed(api))
	}
	// Output:
	// <nil> 0 true
	// <nil> 0 false
}

// An overload of the whole service is waited out like a rate limit.
func ExampleVerdict_overloaded() {
	api, _ := guard.New(guard.Policy{Detector: func(err error) adaptive.Feedback {
		if err.Error() == "the model is warming up" {
			return adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: time.Millisecond}
		}
		return adaptive.Feedback{}
	}})
	sent := 0
	err := api.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if sent++; sent == 1 {
			return errors.New("the model is warming up")
		}
		return nil
	})
	fmt.Println(err, "sent:", sent, "refusals:", api.Stats().View.Hits)
	// Output: <nil> sent: 2 refusals: 1
}

// A call that never reached the wire takes nothing from the windows.
func ExampleVerdict_unsent() {
	api, _ := guard.New(guard.Policy{
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}},
	})
	errCached := errors.New("the answer is in the cache")
	err := api.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		return errCached
	})
	fmt.Println(err)
	fmt.Println(allowed(api), allowed(api))
	// Output:
	// the answer is in the cache
	// true false
}

// apiError is what the errors of most SDKs look like.
type apiError int

func (e apiError) Error() string   { return fmt.Sprint("status ", int(e)) }
func (e apiError) StatusCode() int { return int(e) }

// With a nil detector Classify asks only the default one.
func ExampleClassify() {
	for _, err := range []error{
		apiError(429),
		apiError(529),
		apiError(503),
		apiError(400),
		fmt.Errorf("page 3: %w", &adaptive.RateLimitHit{}),
		errors.New("insufficient_quota"),
		errors.New("no such file"),
	} {
		fmt.Printf("%v: %v\n", err, adaptive.Classify(nil, err).Verdict)
	}
	// Output:
	// status 429: hit
	// status 529: overloaded
	// status 503: transient
	// status 400: ok
	// page 3: adaptive: rate limit hit: hit
	// insufficient_quota: terminal
	// no such file: unclassified
}
