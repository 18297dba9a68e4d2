package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// A quota that was used up is filled again by people, who then say so.
func ExampleLimiter_Reset() {
	lim, _ := adaptive.New(adaptive.Config{Name: "openai"})
	ctx := context.Background()
	err := lim.Do(ctx, throttle.Cost{}, func(context.Context) error { return errors.New("insufficient_quota") })
	fmt.Println(errors.Is(err, adaptive.ErrQuotaExhausted))

	fmt.Println(lim.Reset())
	fmt.Println(lim.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil }))
	// Output:
	// true
	// <nil>
	// <nil>
}

// A call that may not wait for long gets the refusal as its error.
func ExampleConfig_maxWait() {
	lim, _ := adaptive.New(adaptive.Config{Name: "search", MaxWait: time.Millisecond})
	sent := 0
	err := lim.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		sent++
		return &adaptive.RateLimitHit{RetryAfter: time.Minute, Source: "status 429"}
	})
	var hit *adaptive.RateLimitHit
	fmt.Println(errors.As(err, &hit), hit.Scope, hit.RetryAfter, hit.Source)
	fmt.Println("sent:", sent)
	// Output:
	// true search 1m0s status 429
	// sent: 1
}

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

// A meter is what a response's headers say about one unit. Report hands it to
// the law, which may act before there is any refusal.
func ExampleMeter() {
	lim, _ := adaptive.New(adaptive.Config{Name: "openai", Law: Frugal{}})
	for _, remaining := range []int64{1, 0} { // X-Ratelimit-Remaining-Requests
		err := lim.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
			var f adaptive.Feedback // without a verdict: the detectors judge the error
			f.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 500, Remaining: remaining, Reset: time.Hour}
			adaptive.Report(ctx, f)
			return nil
		})
		fmt.Println(err, lim.View().Hits, lim.Throttle().Allow(throttle.Cost{}))
	}
	// Output:
	// <nil> 0 true
	// <nil> 0 false
}

// A service that is full as a whole is waited for like a limit of one's own.
func ExampleVerdict_overloaded() {
	lim, _ := adaptive.New(adaptive.Config{Detector: func(err error) adaptive.Feedback {
		if err.Error() == "the model is warming up" {
			return adaptive.Feedback{Verdict: adaptive.Overloaded, RetryAfter: time.Millisecond}
		}
		return adaptive.Feedback{}
	}})
	sent := 0
	err := lim.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if sent++; sent == 1 {
			return errors.New("the model is warming up")
		}
		return nil
	})
	fmt.Println(err, "sent:", sent, "refusals:", lim.View().Hits)
	// Output: <nil> sent: 2 refusals: 1
}

// A call that never reached the wire takes nothing from the windows.
func ExampleVerdict_unsent() {
	lim, _ := adaptive.New(adaptive.Config{
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}},
	})
	errCached := errors.New("the answer is in the cache")
	err := lim.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Unsent})
		return errCached
	})
	fmt.Println(err)
	fmt.Println(lim.Throttle().Allow(throttle.Cost{}), lim.Throttle().Allow(throttle.Cost{}))
	// Output:
	// the answer is in the cache
	// true false
}

// apiError is what the errors of most SDKs look like.
type apiError int

func (e apiError) Error() string   { return fmt.Sprint("status ", int(e)) }
func (e apiError) StatusCode() int { return int(e) }

// Without a detector of one's own, Classify tells what the default one makes
// of an error.
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

// What counts calls beside the limiter, such as a circuit breaker, asks for the
// limiter's own word.
func ExampleJudge() {
	lim, err := adaptive.New(adaptive.Config{Name: "api", Detector: func(err error) adaptive.Feedback {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return adaptive.Feedback{Verdict: adaptive.Transient}
		}
		return adaptive.Feedback{}
	}})
	if err != nil {
		panic(err)
	}
	_ = lim.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		err := fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)
		fmt.Println(adaptive.Judge(ctx, err).Verdict)
		return err
	})
	// Output: transient
}

// The header of a long answer is old news when the answer ends.
func ExampleCall_Heard() {
	lim, _ := adaptive.New(adaptive.Config{})
	call := lim.Begin(throttle.Cost{})
	if _, err := call.Admit(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	var meters [throttle.Units]adaptive.Meter
	meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 500, Remaining: 499, Reset: 120 * time.Millisecond}
	fmt.Println(call.Heard(meters))
	_, err := call.End(adaptive.Feedback{Verdict: adaptive.OK}) // when the answer has been read
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
