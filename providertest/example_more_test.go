package providertest_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headrace/headrace/providertest"
)

// The provider is one route of a larger fake.
func ExampleServer_Handler() {
	provider := mustNew(providertest.Config{})
	defer provider.Close()
	mux := http.NewServeMux()
	mux.Handle("/openai/", http.StripPrefix("/openai", provider.Handler()))
	server := httptest.NewServer(mux)
	defer server.Close()

	fmt.Println(ask(server.Client(), server.URL+"/openai", "", "The mill is mounted. It turns."))
	fmt.Println(provider.Counts().Served)
	// Output:
	// 200 The mill is mounted.
	// 1
}

// With some providers, a call during the wait extends the wait.
func ExampleConfig_refusalsCount() {
	for _, count := range []bool{false, true} {
		provider := mustNew(providertest.Config{
			Limits:        providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Hour}},
			RefusalsCount: count,
		})
		for range 3 { // one is served, two are refused
			ask(provider.Client(), provider.URL(), "", "Hello.")
		}
		_ = provider.SetLimits(providertest.Limits{Window: providertest.FixedWindow{Max: 3, Per: time.Hour}})
		status, _ := ask(provider.Client(), provider.URL(), "", "Hello.")
		fmt.Println(count, status)
		provider.Close()
	}
	// Output:
	// false 200
	// true 429
}

// All tells of every request, also of those that were refused.
func ExampleLedger_All() {
	provider := mustNew(providertest.Config{
		Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Hour}},
	})
	defer provider.Close()
	for _, key := range []string{"a", "b"} {
		ask(provider.Client(), provider.URL(), key, "Do it.")
	}
	for a := range provider.Ledger().All() {
		fmt.Println(a.Seq, a.Key, a.Status, "served:", a.Served(), "rejected by:", cmp.Or(a.Refused, "none"))
	}
	// Output:
	// 1 a 200 served: true rejected by: none
	// 2 b 429 served: false rejected by: window
}
