package guide

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/executor"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// docs/crawler.md.
func Example_crawler() {
	fetch := func(_ context.Context, page string) (int, error) { return len(page), nil } // in place of a request

	config, err := registry.ParseJSON([]byte(`{"guards": {
		"crawl":   {"limits": "20/s, 20 concurrent"},
		"crawl/*": {"limits": "bucket 2/s burst 5, 2 concurrent", "law": "measured"}
	}}`))
	if err != nil {
		panic(err)
	}
	reg, err := registry.New(config)
	if err != nil {
		panic(err)
	}
	host := func(page string) string {
		u, err := url.Parse(page)
		if err != nil {
			return "invalid" // fetch returns the error
		}
		return u.Host
	}
	crawl := node.Map("crawl", fetch).
		WithParallel(20).
		WithinOf(func(page string) *guard.Guard { return reg.For("crawl", host(page)) })

	pages := []string{"https://a.example/1", "https://a.example/2", "https://b.example/1"}
	lengths, err := crawl.All(context.Background(), pages)
	fmt.Println(lengths, err)
	fmt.Println(reg.For("crawl", "a.example").Stats().Admitted, reg.For("crawl", "b.example").Stats().Admitted, reg.Get("crawl").Stats().Admitted)
	// Output:
	// [19 19 19] <nil>
	// 2 1 3
}

// docs/webhandler.md.
func Example_webHandler() {
	ask := func(_ context.Context, question string) (string, error) { return "about " + question, nil } //nolint:unparam // in place of a call

	x, err := executor.New(executor.Config{Concurrency: 8, Queue: 2})
	if err != nil {
		panic(err)
	}
	defer func() { _ = x.Close() }()
	handler := func(w http.ResponseWriter, r *http.Request) {
		question := r.FormValue("q")
		t, err := executor.TrySubmit(r.Context(), x, func(ctx context.Context) (string, error) { return ask(ctx, question) })
		if full, ok := errors.AsType[*executor.QueueFullError](err); ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(full.RetryAfter.Seconds())+1))
			http.Error(w, "busy, try again later", http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		answer, err := t.Wait(r.Context())
		if err != nil {
			http.Error(w, "no answer", http.StatusBadGateway)
			return
		}
		_, _ = fmt.Fprint(w, answer) // a client that has gone reads no answer
	}

	serve := func() {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodGet, "/?q=mills", nil))
		fmt.Printf("%d %q, Retry-After: %t\n", w.Code, w.Body, w.Header().Get("Retry-After") != "")
	}
	serve()
	x.Pause()
	for range 2 { // fill the queue
		if _, err := executor.TrySubmit(context.Background(), x, func(context.Context) (int, error) { return 0, nil }); err != nil {
			panic(err)
		}
	}
	serve()
	// Output:
	// 200 "about mills", Retry-After: false
	// 503 "busy, try again later\n", Retry-After: true
}

// vectors is a provider's answer to a request for embeddings.
type vectors struct {
	Vectors [][]float32
	Tokens  int64
}

// docs/embeddings.md.
func Example_embeddings() {
	embed := func(_ context.Context, texts []string) (vectors, error) { // in place of a request
		return vectors{Vectors: make([][]float32, len(texts)), Tokens: int64(2 * len(texts))}, nil
	}
	var texts []string
	for i := range 250 {
		texts = append(texts, "text "+strconv.Itoa(i))
	}

	requests := slices.Collect(slices.Chunk(texts, 100))
	limits := throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(3000, time.Minute),
		throttle.Sliding(1_000_000, time.Minute).Of(throttle.Tokens),
	}}
	index := node.Map("embed", embed).
		WithParallel(16).
		WithLimits(limits).
		WithCost(func(texts []string) throttle.Cost {
			characters := 0
			for _, text := range texts {
				characters += len(text)
			}
			return throttle.Cost{Input: int64(characters / 3)} // an estimate; WithUsed corrects it
		}).
		WithUsed(func(_ []string, answer vectors) throttle.Cost { return throttle.Cost{Input: answer.Tokens} })
	answers, err := index.All(context.Background(), requests)
	var all [][]float32 // in the order of texts
	for _, answer := range answers {
		all = append(all, answer.Vectors...)
	}

	fmt.Println(len(requests), "requests,", len(all), "vectors,", err)
	for _, window := range index.Guard().Stats().Windows {
		fmt.Println(window.Spent, "spent")
	}
	// Output:
	// 3 requests, 250 vectors, <nil>
	// 3 spent
	// 500 spent
}
