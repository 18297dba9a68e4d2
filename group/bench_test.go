//go:build unix

package group_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// BenchmarkDecisions is a call of a member, from its wait to its end: the leader
// admits it and learns how it went.
func BenchmarkDecisions(b *testing.B) {
	for _, members := range []int{1, 4} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			at := "unix:" + filepath.Join(b.TempDir(), "s")
			guards := make([]*guard.Guard, members)
			for i := range guards {
				g, err := group.Join(b.Context(), at)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(g.Close)
				if guards[i], err = g.Guard(guard.Policy{Name: "k"}); err != nil {
					b.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			const callers = 16
			b.ReportAllocs()
			b.ResetTimer()
			for _, g := range guards {
				for range callers {
					wg.Go(func() {
						for range b.N / members / callers {
							if err := g.Do(b.Context(), throttle.Cost{}, nothing); err != nil {
								b.Error(err)
							}
						}
					})
				}
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}
