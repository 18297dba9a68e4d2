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

// Whoever names a quota gets its one limiter.
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

// A host falls back to its service, and a service to the default, which is a template.
func ExampleRegistry_For() {
	reg, _ := registry.New(registry.Config{
		Default: registry.Spec{Limits: throttle.Limits{Concurrency: 1}},
		Services: map[string]registry.Service{
			"openai": {
				Spec:  registry.Spec{Limits: throttle.Limits{Concurrency: 8}},
				Hosts: map[string]registry.Spec{"eu.api.openai.com": {Limits: throttle.Limits{Concurrency: 4}}},
			},
			"crawl": {Hosts: map[string]registry.Spec{"*": {Limits: throttle.Limits{Concurrency: 2}}}},
		},
	})
	for _, of := range [][2]string{
		{"openai", "api.openai.com"}, {"openai", "eu.api.openai.com"}, {"crawl", "example.org"}, {"ols", "www.ebi.ac.uk"},
	} {
		l := reg.For(of[0], of[1])
		fmt.Println(of[0], of[1], "->", l.Name()+":", l.Stats().Limits)
	}
	// Output:
	// openai api.openai.com -> openai: 8 concurrent
	// openai eu.api.openai.com -> openai/eu.api.openai.com: 4 concurrent
	// crawl example.org -> crawl/example.org: 2 concurrent
	// ols www.ebi.ac.uk -> ols: 1 concurrent
}

// What nobody has said anything about is not found, and For makes it.
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

// A taken name is an error, and Replace changes the limiter that everybody has.
func ExampleRegistry_Replace() {
	reg, _ := registry.New(registry.Config{})
	l, err := reg.Register("ols", guard.Policy{Limits: throttle.Limits{Concurrency: 2}})
	fmt.Println(l.Stats().Limits, err)

	other := guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Second)}}}
	_, err = reg.Register("ols", other)
	fmt.Println(errors.Is(err, registry.ErrExists))
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
  "services": {
    "ols": {"limts": "4/s"},
    "bioportal": {"law": "mesured", "max_wait": 90}
  }
}`))
	fmt.Println(err)
	// Output:
	// registry: line 3:13: services.ols.limts: the key is unknown: did you mean limits?
	// registry: line 4:26: services.bioportal.law: "mesured" is not a law: did you mean measured?
	// registry: line 4:49: services.bioportal.max_wait: 90 is a number: write a duration, such as "90s" or "15m", in quotation marks
}

// The worst of all keys, for a page that an operator looks at.
func ExampleStats_Blocking() {
	reg, _ := registry.New(registry.Config{})
	l := reg.For("ols", "")
	_ = l.Do(context.Background(), throttle.Cost{}, func(context.Context) error { return nil })
	s := reg.Stats()
	fmt.Println(s.Total.Admitted, "admitted,", len(s.Blocking(3)), "keys hold callers back")
	// Output: 1 admitted, 0 keys hold callers back
}
