package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

// A refused call goes again by itself; the caller never sees the refusal.
func Example() {
	lim, err := adaptive.New(adaptive.Config{
		Name:   "openai",
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts := 0
	complete := func(context.Context) (string, error) { // what an SDK does
		if attempts++; attempts == 1 {
			return "", errors.New("429 Too Many Requests")
		}
		return "Hello!", nil
	}

	var answer string
	err = lim.Do(context.Background(), throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
		answer, err = complete(ctx)
		return err
	})
	fmt.Println(answer, err)
	fmt.Println("attempts:", attempts)
	// Output:
	// Hello! <nil>
	// attempts: 2
}

// Code that knows the provider says what a refusal is by returning one.
func ExampleRateLimitHit() {
	lim, _ := adaptive.New(adaptive.Config{Name: "search"})
	err := lim.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
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

func ExampleLimiter_Do() {
	lim, _ := adaptive.New(adaptive.Config{Name: "images", Limits: throttle.Limits{Concurrency: 1}})
	ctx := context.Background()

	// Calls nest: the one inside takes the permit of the one around over, so
	// that a bound of one does not wait for itself.
	err := lim.Do(ctx, throttle.Cost{}, func(ctx context.Context) error {
		return lim.Do(ctx, throttle.Cost{}, func(context.Context) error {
			fmt.Println("in flight:", lim.Throttle().Stats().InFlight)
			return nil
		})
	})
	fmt.Println(err)

	// A used-up quota fails everybody who follows, unsent.
	for range 2 {
		err = lim.Do(ctx, throttle.Cost{}, func(context.Context) error {
			fmt.Println("sent")
			return errors.New("insufficient_quota")
		})
		fmt.Println(errors.Is(err, adaptive.ErrQuotaExhausted))
	}
	// Output:
	// in flight: 1
	// <nil>
	// sent
	// true
	// true
}

// The law is a machine without a clock: a test can drive it.
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

// A detector teaches the limiter what this provider's refusals look like. For
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

// What a call really cost is known when its answer is there.
func ExampleUse() {
	lim, _ := adaptive.New(adaptive.Config{
		Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)}},
	})
	_ = lim.Do(context.Background(), throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
		adaptive.Use(ctx, throttle.Cost{Tokens: 300})
		return nil
	})
	fmt.Println(lim.Throttle().Allow(throttle.Cost{Tokens: 700}))
	fmt.Println(lim.Throttle().Allow(throttle.Cost{Tokens: 1}))
	// Output:
	// true
	// false
}

// Some providers refuse with status 200 and a word in the body.
func ExampleReport() {
	lim, _ := adaptive.New(adaptive.Config{})
	bodies := []string{`{"error": "busy"}`, `{"answer": 42}`}
	err := lim.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		body := bodies[0]
		bodies = bodies[1:]
		if strings.Contains(body, "busy") {
			adaptive.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Millisecond})
			return nil
		}
		fmt.Println(body)
		return nil
	})
	fmt.Println(err, lim.View().Hits)
	// Output:
	// {"answer": 42}
	// <nil> 1
}

// A supervisor gives the slot of a call that hangs to others.
func ExampleAbandon() {
	lim, _ := adaptive.New(adaptive.Config{Limits: throttle.Limits{Concurrency: 1}})
	_ = lim.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		fmt.Println(lim.Throttle().Stats().InFlight)
		fmt.Println(adaptive.Abandon(ctx)) // from another goroutine, as a rule
		fmt.Println(lim.Throttle().Stats().InFlight)
		return nil
	})
	// Output:
	// 1
	// true
	// 0
}

// A hit inside a call of another limiter lowers that one's window too.
func ExampleEnclose() {
	documents, _ := adaptive.New(adaptive.Config{Name: "documents", Law: adaptive.AIMD{Initial: 8}})
	pages, _ := adaptive.New(adaptive.Config{Name: "pages"})

	refused := false
	err := documents.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		ctx = adaptive.Enclose(ctx, documents, false)
		return pages.Do(ctx, throttle.Cost{}, func(context.Context) error {
			if !refused {
				refused = true
				return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
			}
			return nil
		})
	})
	fmt.Println(err)
	fmt.Println(documents.View().Concurrency)
	// Output:
	// <nil>
	// 4
}

func ExampleLimiter_View() {
	clock := clockwork.NewFakeClock()
	lim, _ := adaptive.New(adaptive.Config{Name: "openai", Law: adaptive.AIMD{Initial: 8}}, adaptive.WithClock(clock))

	sent := clock.Now()
	clock.Advance(time.Second)
	lim.Learn(context.Background(), sent, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 20 * time.Second})

	v := lim.View()
	fmt.Println("calls in flight:", v.Concurrency)
	fmt.Println("hits and cuts:", v.Hits, v.Cuts)
	fmt.Println("at least 20 s:", v.GateUntil.Sub(clock.Now()) >= 20*time.Second)
	// Output:
	// calls in flight: 4
	// hits and cuts: 1 1
	// at least 20 s: true
}

func ExampleLimiter_Explain() {
	lim, _ := adaptive.New(adaptive.Config{Name: "openai"})
	fmt.Println(lim.Explain())
	lim.Learn(context.Background(), time.Now(), adaptive.Feedback{Verdict: adaptive.Terminal, Err: errors.New("no credit")})
	fmt.Println(lim.Explain())
	// Output:
	// 0 in flight of 4, 0 waiting: nothing holds it back
	// 0 in flight of 4, 0 waiting: closed, adaptive: quota exhausted: limiter "openai": no credit
}

// An observer is told what the law learns. It may ask the limiter back.
func ExampleWithObserver() {
	var lim *adaptive.Limiter
	lim, _ = adaptive.New(adaptive.Config{Name: "openai", Law: adaptive.AIMD{}}, adaptive.WithObserver(event.Func(func(e event.Event) {
		fmt.Println(e.Kind, e.Source, lim.View().Concurrency)
	})))
	lim.Learn(context.Background(), time.Now(), adaptive.Feedback{Verdict: adaptive.Hit})
	// Output:
	// limiter.hit openai 2
	// limiter.cut openai 2
}

// OneByOne is a law of one's own: after the first refusal, one call at a time.
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
	lim, _ := adaptive.New(adaptive.Config{Law: OneByOne{}})
	refused := false
	err := lim.Do(context.Background(), throttle.Cost{}, func(context.Context) error {
		if !refused {
			refused = true
			return &adaptive.RateLimitHit{}
		}
		return nil
	})
	fmt.Println(err, lim.View().Concurrency)
	// Output: <nil> 1
}
