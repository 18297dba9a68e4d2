package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// A crawler of 20 hosts (2/s each, within 20/s in all) with 64 workers ends when
// the limits allow it, although its pages come host by host. Items that wait for
// a host occupy no worker.
func TestACrawlerWithPagesGroupedByHost(t *testing.T) {
	const hosts, pages, ideal = 20, 30, 29 * time.Second // 600 pages at 20/s, the first 20 at once
	synctest.Test(t, func(t *testing.T) {
		all, err := guard.New(guard.Policy{Name: "crawl", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(20, time.Second)}}})
		require.NoError(t, err)
		of := map[string]*guard.Guard{}
		var urls []string
		for h := range hosts {
			host := fmt.Sprintf("host%d", h)
			of[host], err = guard.New(guard.Policy{
				Name: host, Within: []*guard.Guard{all}, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(2, 5)}},
			})
			require.NoError(t, err)
			for p := range pages {
				urls = append(urls, fmt.Sprintf("%s/%d", host, p))
			}
		}
		var mu sync.Mutex
		busy, most := 0, 0
		crawl := node.Map("crawl", func(ctx context.Context, _ string) (struct{}, error) {
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			err := work(ctx, 100*time.Millisecond)
			mu.Lock()
			busy--
			mu.Unlock()
			return struct{}{}, err
		}).WithParallel(64).WithinOf(func(url string) *guard.Guard {
			host, _, _ := strings.Cut(url, "/")
			return of[host]
		})
		began := time.Now()
		_, err = crawl.All(t.Context(), urls)
		require.NoError(t, err)
		took := time.Since(began)
		t.Logf("%s, where %s is possible", took, ideal)
		assert.LessOrEqual(t, took, ideal+ideal/20)
		assert.LessOrEqual(t, most, 64)
	})
}
