package service_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/headrace/headrace/service"
)

// A service answers 200 while a limit has tokens left, and then 429.
func ExampleServer() {
	s, err := service.New(context.Background(), service.Config{Text: []byte(`
rate_limits:
  - {scope: user, resource: search, capacity: 2, refill_rate: 0.1}
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close() //nolint:errcheck // the limits are in memory
	for range 3 {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/ratelimit/check", strings.NewReader(`{"identifier": "alice", "resource": "search"}`))
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"), w.Header().Get("RateLimit-Policy"))
		_, _ = io.Copy(io.Discard, w.Body)
	}
	// Output:
	// 200 1 "user/search";q=2;w=20
	// 200 0 "user/search";q=2;w=20
	// 429 0 "user/search";q=2;w=20
}

// Inspect reports every problem of a file with its place.
func ExampleInspect() {
	_, err := service.Inspect("testdata/invalid.yaml")
	fmt.Println(err)
	// Output:
	// testdata/invalid.yaml:2:46: rate_limits[0].refill_rate: 20000 is more than 1000 times the capacity: write at most 10000
	// testdata/invalid.yaml:3:5: rate_limits[1].scope: it is missing: write one such as user
	// testdata/invalid.yaml:3:5: rate_limits[1].scop: the key is unknown: did you mean scope?
}
