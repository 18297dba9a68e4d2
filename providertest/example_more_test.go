package providertest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headrace/headrace/providertest"
)

// The latencies of a server are drawn from Config.Seed, so they are the same
// in every run. Draw shows what they are like.
func ExampleUniform() {
	latency := providertest.Uniform{Min: 20 * time.Millisecond, Max: 30 * time.Millisecond}
	r := rand.New(rand.NewPCG(1, 2))
	within := 0
	for range 1000 {
		if d := latency.Draw(r); latency.Min <= d && d <= latency.Max {
			within++
		}
	}
	fmt.Println(within)
	// Output: 1000
}

// Model calls have a long tail: most are quick, and a few are not.
func ExampleLogNormal() {
	latency := providertest.LogNormal{Median: time.Second, Sigma: 0.5, Max: 5 * time.Second}
	r := rand.New(rand.NewPCG(1, 2))
	quick, slow, beyond := 0, 0, 0
	for range 10_000 {
		switch d := latency.Draw(r); {
		case d > latency.Max:
			beyond++
		case d > 2300*time.Millisecond:
			slow++
		case d < latency.Median:
			quick++
		}
	}
	fmt.Println("about half below the median:", 4800 < quick && quick < 5200)
	fmt.Println("one in twenty above 2.3 s:", 400 < slow && slow < 600)
	fmt.Println("beyond Max:", beyond)
	// Output:
	// about half below the median: true
	// one in twenty above 2.3 s: true
	// beyond Max: 0
}

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

// With some providers, who knocks while the door is shut keeps it shut.
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

// ByKey counts only what was served.
func ExampleLedger_ByKey() {
	provider := mustNew(providertest.Config{
		Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 3, Per: time.Hour}},
	})
	defer provider.Close()
	for _, key := range []string{"a", "b", "b", "c"} {
		ask(provider.Client(), provider.URL(), key, "Do it.")
	}
	fmt.Println(provider.Ledger().ByKey())
	// Output: map[a:1 b:2 c:0]
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
		fmt.Println(a.Seq, a.Key, a.Status, "served:", a.Served(), "refused by:", a.Refused)
	}
	// Output:
	// 1 a 200 served: true refused by: none
	// 2 b 429 served: false refused by: window
}
