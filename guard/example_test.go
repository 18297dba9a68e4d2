package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func Example() {
	openai, err := guard.New(guard.Policy{Name: "openai", Preset: presets.OpenAITier1})
	if err != nil {
		panic(err)
	}
	ask := func(context.Context) error { return nil } // calls the provider
	err = openai.Do(context.Background(), throttle.Cost{Tokens: 900}, ask)
	fmt.Println(err, openai.Stats().Admitted)
	// Output: <nil> 1
}

func ExampleGet() {
	provider, err := guard.New(guard.Policy{Retry: &retry.Policy{MaxAttempts: 3, Initial: time.Millisecond}})
	if err != nil {
		panic(err)
	}
	attempts := 0
	text, err := guard.Get(context.Background(), provider, throttle.Cost{}, func(context.Context) (string, error) {
		if attempts++; attempts == 1 {
			return "", errors.New("connection reset")
		}
		return "hello", nil
	})
	fmt.Println(text, err, "after", attempts, "attempts")
	// Output: hello <nil> after 2 attempts
}

// A web handler that turns callers away instead of letting them wait.
func ExampleGuard_Try() {
	api, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1, 2)}}})
	if err != nil {
		panic(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := api.Try(r.Context(), throttle.Cost{}, func(context.Context) error {
			_, err := fmt.Fprint(w, "hello")
			return err
		})
		if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(limited.RetryAfter.Seconds())+1))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		}
	})
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 200 ""
	// 429 "1"
}

// A call for a host takes from the host's limit and from that of the whole
// crawl at one instant; a slow host holds up no other.
func ExampleJoin() {
	perSecond := func(name string, n int64, within ...*guard.Guard) *guard.Guard {
		g, err := guard.New(guard.Policy{
			Name: name, Within: within,
			Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Second)}},
		})
		if err != nil {
			panic(err)
		}
		return g
	}
	crawl := perSecond("crawl", 20)
	host := perSecond("example.org", 2, crawl)
	user := perSecond("user 7", 5)

	fetch := func(context.Context) error { return nil }
	fmt.Println(guard.Join(user, host).Do(context.Background(), throttle.Cost{}, fetch))
	for _, g := range []*guard.Guard{user, host, crawl} {
		fmt.Println(g.Name(), g.Stats().Windows[0].Left, "left")
	}
	// Output:
	// <nil>
	// user 7 4 left
	// example.org 1 left
	// crawl 19 left
}

// Two processes share a limit through a store. Here both are this process.
func ExamplePolicy_store() {
	store := quota.NewMemoryStore(nil) // in production one that all processes can reach
	process := func() *guard.Guard {
		g, err := guard.New(guard.Policy{
			Name: "openai", Store: store,
			Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(3, time.Minute)}},
		})
		if err != nil {
			panic(err)
		}
		return g
	}
	first, second := process(), process()
	ask := func(context.Context) error { return nil }
	for range 2 {
		fmt.Println(first.Try(context.Background(), throttle.Cost{}, ask), second.Try(context.Background(), throttle.Cost{}, ask) == nil)
	}
	// Output:
	// <nil> true
	// <nil> false
}

// A call that does not end with the return of a function.
func ExampleGuard_Begin() {
	provider, err := guard.New(guard.Policy{})
	if err != nil {
		panic(err)
	}
	send := func(_ context.Context, attempt int) adaptive.Feedback {
		if attempt == 0 {
			return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Millisecond}
		}
		return adaptive.Feedback{}
	}
	call := provider.Begin(throttle.Cost{})
	attempts := 0
	for again := true; again; attempts++ {
		ctx, err := call.Admit(context.Background())
		if err != nil {
			panic(err)
		}
		again, err = call.End(send(ctx, attempts)) // or later, from another goroutine
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(attempts, "attempts")
	// Output: 2 attempts
}

func ExampleGuard_Policy() {
	g, err := guard.New(guard.Policy{Name: "openai", Preset: presets.OpenAITier1})
	if err != nil {
		panic(err)
	}
	p := g.Policy()
	p.Limits = throttle.Limits{Concurrency: 8}
	err = g.Set(p)
	fmt.Println(err, g.Policy().Preset, g.Stats().Limits.Concurrency)
	// Output: <nil> openai/tier1 8
}

func ExampleUse() {
	perMinute := throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)
	provider, err := guard.New(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{perMinute}}})
	if err != nil {
		panic(err)
	}
	err = provider.Do(context.Background(), throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
		guard.Use(ctx, throttle.Cost{Tokens: 120}) // what the response says
		return nil
	})
	fmt.Println(err, provider.Stats().Windows[0].Spent)
	// Output: <nil> 120
}

// A response that no detector recognizes.
func ExampleReport() {
	provider, err := guard.New(guard.Policy{})
	if err != nil {
		panic(err)
	}
	attempts := 0
	err = provider.Do(context.Background(), throttle.Cost{}, func(ctx context.Context) error {
		if attempts++; attempts == 1 {
			guard.Report(ctx, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Millisecond, Source: "code 1002"})
		}
		return nil
	})
	fmt.Println(err, attempts, provider.Stats().View.Hits)
	// Output: <nil> 2 1
}

func ExampleGuard_Set() {
	api, err := guard.New(guard.Policy{Name: "api"})
	if err != nil {
		panic(err)
	}
	p := api.Policy()
	p.Limits.Concurrency = 8
	fmt.Println(api.Set(p), api.Stats().Limits)
	// Output: <nil> 8 concurrent
}

func ExampleGuard_Save() {
	policy := guard.Policy{Name: "api", Law: adaptive.AIMD{Initial: 8, Max: 64}}
	before, err := guard.New(policy)
	if err != nil {
		panic(err)
	}
	saved, err := before.Save()
	if err != nil {
		panic(err)
	}
	after, err := guard.New(policy)
	if err != nil {
		panic(err)
	}
	fmt.Println(after.Restore(saved), after.Stats().View.Concurrency)
	// Output: <nil> 8
}

func ExampleGuard_Stats() {
	api, err := guard.New(guard.Policy{Name: "api", Limits: throttle.Limits{Concurrency: 4}})
	if err != nil {
		panic(err)
	}
	fmt.Println(api.Stats().Why)
	// Output: 0 in flight of 4, 0 waiting: nothing holds it back
}
