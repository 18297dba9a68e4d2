package registry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// All callers that name a quota get its one guard.
func Example() {
	config, err := registry.Parse("default: 1/s; ols: 4/s; bioportal: 2/s, 100/min")
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := registry.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	term, err := guard.Get(context.Background(), reg.Get("ols"), throttle.Cost{}, func(context.Context) (string, error) { return "term a", nil })
	fmt.Println(term, err)

	err = reg.Get("OLS").Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	fmt.Println(err)
	fmt.Println("calls on ols:", reg.Get("ols").Stats().Admitted)
	// Output:
	// term a <nil>
	// <nil>
	// calls on ols: 2
}

// A path falls back to a template, to the path without its last part, and to the default.
func ExampleRegistry_For() {
	config, err := registry.Parse("openai: 8/s; openai/eu: 4/s; crawl: 20/s; crawl/*: bucket 2/s burst 5; default: 1/s")
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := registry.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range [][]string{{"openai", "eu"}, {"openai", "us"}, {"crawl", "example.org"}, {"ols"}} {
		g := reg.For(path...)
		fmt.Println(path, "->", g.Name()+":", g.Policy().Limits)
	}
	fmt.Println("crawl/example.org is within", reg.For("crawl", "example.org").Policy().Within[0].Name())
	// Output:
	// [openai eu] -> openai/eu: 4/s
	// [openai us] -> openai: 8/s
	// [crawl example.org] -> crawl/example.org: bucket 2/s burst 5
	// [ols] -> ols: 1/s
	// crawl/example.org is within crawl
}

// Lookup returns nil for names that are not configured; For makes a guard.
func ExampleRegistry_Lookup() {
	config, err := registry.Parse("openai: 10/s")
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := registry.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reg.Lookup("openai", "api.openai.com").Name())
	fmt.Println(reg.Lookup("mistral", "api.mistral.ai") == nil, reg.Generation())
	fmt.Println(reg.For("mistral", "api.mistral.ai").Name(), reg.Generation())
	// Output:
	// openai
	// true 0
	// mistral 1
}

// A taken name is an error, and Replace changes the limiter for all its users.
func ExampleRegistry_Replace() {
	reg, _ := registry.New(registry.Config{})
	l, err := reg.Register("ols", guard.Policy{Limits: throttle.Limits{Concurrency: 2}})
	fmt.Println(l.Stats().Limits, err)

	other := guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Second)}}}
	_, err = reg.Register("ols", other)
	fmt.Println(errors.As(err, new(*registry.ExistsError)))
	_, err = reg.Replace("ols", other)
	fmt.Println(l.Stats().Limits, err)
	// Output:
	// 2 concurrent <nil>
	// true
	// 5/s <nil>
}

// An error says where it is and what may have been meant.
func ExampleParseJSON() {
	_, err := registry.ParseJSON([]byte(`{
  "guards": {
    "ols": {"limts": "4/s"},
    "bioportal": {"law": "mesured", "max_wait": 90}
  }
}`))
	fmt.Println(err)
	// Output:
	// registry: line 3:13: guards.ols.limts: the key is unknown: did you mean limits?
	// registry: line 4:26: guards.bioportal.law: "mesured" is not a law: did you mean measured?
	// registry: line 4:49: guards.bioportal.max_wait: 90 is a number: write a duration, such as "90s" or "15m", in quotation marks
}

// The worst of all keys, for a page that an operator looks at.
func ExampleStats_Blocking() {
	reg, _ := registry.New(registry.Config{})
	l := reg.For("ols")
	_ = l.Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	s := reg.Stats()
	fmt.Println(s.Total.Admitted, "admitted,", len(s.Blocking(3)), "keys hold callers back")
	// Output: 1 admitted, 0 keys hold callers back
}

// A weighted call by service and host: Do waits until both have room for it, and
// Try fails at once.
func Example_acquire() {
	config, err := registry.Parse("crawl: 20/s; crawl/*: bucket 2/s burst 5")
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := registry.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	const host, weight = "example.org", 4
	fetch := func(context.Context) error { fmt.Println("fetched"); return nil }

	ctx := context.Background()
	err = reg.For("crawl", host).Do(ctx, throttle.Cost{Requests: weight}, fetch) // waits
	fmt.Println(err)
	err = reg.For("crawl", host).Try(ctx, throttle.Cost{Requests: weight}, fetch) // a *throttle.LimitedError at once
	limited, ok := errors.AsType[*throttle.LimitedError](err)
	fmt.Println(ok, limited.Limiter, limited.RetryAfter > time.Second)
	// Output:
	// fetched
	// <nil>
	// true crawl/example.org true
}
