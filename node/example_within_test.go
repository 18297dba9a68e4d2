package node_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Each host has limits of its own. Items for the slow one, although they come
// first, do not hold up those for the other.
func ExampleBatch_WithinOf() {
	hosts := map[string]*guard.Guard{}
	for host, every := range map[string]time.Duration{"slow.example": 30 * time.Millisecond, "fast.example": time.Millisecond} {
		g, err := guard.New(guard.Policy{Name: host, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, every)}}})
		if err != nil {
			panic(err)
		}
		hosts[host] = g
	}
	hostOf := func(url string) string {
		host, _, _ := strings.Cut(url, "/")
		return host
	}
	fetch := func(_ context.Context, url string) (string, error) { return "page of " + url, nil }

	crawl := node.Map("crawl", fetch).
		WithParallel(8).
		WithinOf(func(url string) *guard.Guard { return hosts[hostOf(url)] })
	pages, err := crawl.All(context.Background(), []string{"slow.example/1", "slow.example/2", "fast.example/3"})
	fmt.Println(pages[2], err)
	fmt.Println("calls to the slow host:", hosts["slow.example"].Stats().Admitted)
	// Output:
	// page of fast.example/3 <nil>
	// calls to the slow host: 2
}
