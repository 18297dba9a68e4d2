package benchmarks

import (
	"fmt"
	"testing"

	"golang.org/x/time/rate"

	"github.com/headrace/headrace/throttle"
)

// BenchmarkResize is one change of the rate while so many wait. x/time/rate
// does not affect calls that already wait.
func BenchmarkResize(b *testing.B) {
	for _, waiters := range []int{0, 1_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			contend(b, []contender{
				{"headrace", func(b *testing.B) {
					b.Helper()
					const slow = 1.0 / 3600
					l := limiter(b, windows(throttle.Bucket(slow, 1)))
					l.Allow(throttle.Cost{})
					c := gather(b, waiters, headraceSlot{l}.wait)
					defer c.disperse()
					limits := [2]throttle.Limits{windows(throttle.Bucket(slow/2, 1)), windows(throttle.Bucket(slow, 1))}
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if err := l.SetLimits(limits[i%2]); err != nil {
							b.Fatal(err)
						}
					}
				}},
				{"x-time-rate", func(b *testing.B) {
					b.Helper()
					const slow = rate.Limit(1.0 / 3600)
					l := rate.NewLimiter(slow, 1)
					l.Allow()
					c := gather(b, waiters, l.Wait)
					defer c.disperse()
					limits := [2]rate.Limit{slow / 2, slow}
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						l.SetLimit(limits[i%2])
					}
				}},
			})
		})
	}
}
