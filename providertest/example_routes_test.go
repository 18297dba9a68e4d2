package providertest_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/headrace/headrace/providertest"
)

// tell posts a body to a path of the provider and returns the answer, read as
// far as it goes.
func tell(provider *providertest.Server, path, body string) (answer, error) {
	res, err := provider.Client().Post(provider.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(data)}, err
}

type answer struct {
	status int
	header http.Header
	body   string
}

const (
	mill       = `{"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "Mill."}]}`
	millStream = `{"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "Mill."}], "stream": true}`
)

// Anthropic's route speaks Anthropic's dialect, unless configured otherwise.
func ExampleDialect() {
	for _, d := range []providertest.Dialect{providertest.ByRoute, providertest.Generic} {
		provider := mustNew(providertest.Config{
			Dialect: d, Headers: true,
			Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Hour}},
		})
		res, _ := tell(provider, "/v1/messages", mill)
		fmt.Printf("%d %q %q\n", res.status, res.header.Get("Anthropic-Ratelimit-Requests-Limit"), res.header.Get("X-Ratelimit-Limit"))
		res, _ = tell(provider, "/v1/messages", mill)
		fmt.Println(res.status, res.body)
		provider.Close()
	}
	// Output:
	// 200 "1" ""
	// 429 {"error":{"message":"Rate limit reached for m on requests. Please try again later.","type":"rate_limit_error"},"type":"error"}
	// 200 "" "1"
	// 429 {"message":"Rate limit reached for m on requests. Please try again later"}
}

// A request takes what it might use, and gives back what it did not.
func ExampleTokens() {
	provider := mustNew(providertest.Config{
		Limits: providertest.Limits{Tokens: providertest.Bucket{PerSecond: 1. / 3600, Burst: 30}},
	})
	defer provider.Close()
	for range 3 {
		_, _ = tell(provider, "/v1/chat/completions", mill)
	}
	for a := range provider.Ledger().All() {
		fmt.Println(a.Status, "reserved:", a.Reserved.Total, "used:", a.Used.Total, "rejected by:", cmp.Or(a.Refused, "none"))
	}
	// Output:
	// 200 reserved: 20 used: 8 rejected by: none
	// 200 reserved: 20 used: 8 rejected by: none
	// 429 reserved: 20 used: 0 rejected by: tokens
}

// Connections break at the worst moment: the request has been paid for.
func ExampleBreak() {
	provider := mustNew(providertest.Config{
		Fault: func(r providertest.Request) *providertest.Fault {
			brk := providertest.BreakBody
			if r.Stream {
				brk = providertest.BreakError
			}
			return &providertest.Fault{Admit: true, Break: brk}
		},
	})
	defer provider.Close()

	res, err := tell(provider, "/v1/messages", mill)
	fmt.Println(res.status, err)
	res, err = tell(provider, "/v1/messages", millStream)
	fmt.Println(res.status, err)
	_, last, _ := strings.Cut(res.body, "event: error\n")
	fmt.Println(strings.TrimSpace(last))
	fmt.Println(provider.Counts().Aborted, "aborted")
	// Output:
	// 200 unexpected EOF
	// 200 <nil>
	// data: {"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}
	// 2 aborted
}

// The same fault has the status that each provider gives it.
func ExampleOverloaded() {
	provider := mustNew(providertest.Config{
		Fault: func(providertest.Request) *providertest.Fault { return providertest.Overloaded() },
	})
	defer provider.Close()
	for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
		res, _ := tell(provider, path, mill)
		fmt.Println(path, res.status)
	}
	// Output:
	// /v1/messages 529
	// /v1/chat/completions 503
}

// Attempts and TooMany judge a client: how many calls it made, and how many of them failed.
func ExampleLedger_Attempts() {
	provider := mustNew(providertest.Config{
		Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 2, Per: time.Hour}},
		KeyOf:  func(r providertest.Request) string { return r.Messages[0].Content },
	})
	defer provider.Close()
	for _, text := range []string{"a", "b", "c", "c", "c"} {
		ask(provider.Client(), provider.URL(), "", text)
	}
	ledger := provider.Ledger()
	fmt.Println(len(ledger.Attempts()), "requests:", ledger.Attempts())
	fmt.Println(ledger.TooMany(), "of", ledger.Arrivals, "attempts were refused")
	// Output:
	// 3 requests: map[a:1 b:1 c:3]
	// 3 of 5 attempts were refused
}

// What happened after the first minute counts.
func ExampleLedger_Between() {
	provider := mustNew(providertest.Config{})
	defer provider.Close()
	ask(provider.Client(), provider.URL(), "", "Warming up.")

	started := time.Now().Add(-2 * time.Minute)
	later := provider.Ledger().Between(started.Add(time.Minute), started.Add(time.Hour))
	fmt.Println(later.Served, "served,", later.TooMany(), "refused")
	// Output: 1 served, 0 refused
}
