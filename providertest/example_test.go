package providertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/providertest"
)

// ask sends one chat request to url and returns the answer's status and text.
func ask(client *http.Client, url, key, text string) (int, string) {
	body := fmt.Sprintf(`{"model": "test-1", "messages": [{"role": "user", "content": %q}]}`, text)
	req, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		panic(err)
	}
	if len(answer.Choices) == 0 {
		return res.StatusCode, answer.Error.Message
	}
	return res.StatusCode, answer.Choices[0].Message.Content
}

// mustNew keeps the examples short.
func mustNew(config providertest.Config) *providertest.Server {
	s, err := providertest.New(config)
	if err != nil {
		panic(err)
	}
	return s
}

// A provider that allows two requests per hour, and does not say so.
func Example() {
	provider, err := providertest.New(providertest.Config{
		Limits: providertest.Limits{
			Window: providertest.FixedWindow{Max: 2, Per: time.Hour},
		},
	})
	if err != nil {
		panic(err)
	}
	defer provider.Close()

	for _, text := range []string{
		"A headrace feeds the mill wheel. A gate opens it.",
		"Water finds its level. It takes its time.",
		"One too many. Really.",
	} {
		fmt.Println(ask(provider.Client(), provider.URL(), "", text))
	}
	counts := provider.Counts()
	fmt.Println(counts.Served, "served,", counts.Refused, "refused")
	// Output:
	// 200 A headrace feeds the mill wheel.
	// 200 Water finds its level.
	// 429 Rate limit reached for test-1 on requests. Please try again later.
	// 2 served, 1 refused
}

// A client that means to do items a, b and c once each, but loses c and repeats b.
func ExampleLedger_Audit() {
	provider := mustNew(providertest.Config{})
	defer provider.Close()
	for _, key := range []string{"a", "b", "b"} {
		ask(provider.Client(), provider.URL(), key, "Do it.")
	}

	audit := provider.Ledger().Audit(slices.Values([]string{"a", "b", "c"}))
	fmt.Println(audit.OK(), "lost:", audit.Lost, "twice:", audit.Twice)
	// Output:
	// false lost: [c] twice: [b]
}

// Transport needs no socket, and any host will do.
func ExampleServer_Transport() {
	provider := mustNew(providertest.Config{
		Reply: func(r providertest.Request) string { return strings.ToUpper(r.Messages[0].Content) },
	})
	defer provider.Close()

	client := &http.Client{Transport: provider.Transport()}
	fmt.Println(ask(client, "https://api.example.com", "", "louder"))
	// Output:
	// 200 LOUDER
}

// The provider changes its mind while clients are at work.
func ExampleServer_SetLimits() {
	provider := mustNew(providertest.Config{})
	defer provider.Close()
	status := func() int {
		code, _ := ask(provider.Client(), provider.URL(), "", "Hello.")
		return code
	}

	fmt.Println(status(), status())
	err := provider.SetLimits(providertest.Limits{
		Rate: providertest.Bucket{PerSecond: 1. / 3600, Burst: 1},
	})
	fmt.Println(err, status(), status())
	// Output:
	// 200 200
	// <nil> 200 429
}

// The advice that a refusal carries is true, and as scarce as it is configured.
func ExampleRetryAfter() {
	provider := mustNew(providertest.Config{
		Limits:     providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Hour}},
		RetryAfter: providertest.RetryAfterSeconds,
		Headers:    true,
	})
	defer provider.Close()

	ask(provider.Client(), provider.URL(), "", "The only one.")
	res, err := provider.Client().Post(provider.URL()+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model": "test-1", "messages": [{"role": "user", "content": "Too many."}]}`))
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	wait, err := time.ParseDuration(res.Header.Get("Retry-After") + "s")
	fmt.Println(wait > 50*time.Minute, err)
	fmt.Println(res.Header.Get("X-Ratelimit-Remaining-Requests"), "of", res.Header.Get("X-Ratelimit-Limit-Requests"), "left")
	// Output:
	// 429 Too Many Requests
	// true <nil>
	// 0 of 1 left
}

// An account that runs out of money at one item.
func ExampleFault() {
	provider := mustNew(providertest.Config{
		Fault: func(r providertest.Request) *providertest.Fault {
			switch r.Key {
			case "2":
				return &providertest.Fault{Status: http.StatusServiceUnavailable}
			case "3":
				return providertest.QuotaExhausted()
			}
			return nil
		},
	})
	defer provider.Close()

	for _, key := range []string{"1", "2", "3"} {
		fmt.Println(ask(provider.Client(), provider.URL(), key, "Hello."))
	}
	// Output:
	// 200 Hello.
	// 503 The engine is currently overloaded, please try again later.
	// 429 You exceeded your current quota, please check your plan and billing details.
}

// New and SetLimits name every field that cannot be used.
func ExampleNew_problems() {
	_, err := providertest.New(providertest.Config{
		Limits: providertest.Limits{
			Concurrency: -1,
			Window:      providertest.FixedWindow{Max: 10},
		},
	})
	fmt.Println(err)
	// Output:
	// providertest: Limits.Concurrency: must not be negative
	// providertest: Limits.Window.Per: must be positive and at most 366 days
}
