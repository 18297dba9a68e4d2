package benchmarks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// BenchmarkDo is one call that does nothing under a limiter with room, and the controller that judges the result.
func BenchmarkDo(b *testing.B) {
	under := func(law adaptive.Law) func(b *testing.B) func() bool {
		return func(b *testing.B) func() bool {
			b.Helper()
			g, err := guard.New(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{bucket()}}, Law: law})
			require.NoError(b, err)
			ctx := b.Context()
			return func() bool {
				return g.Do(ctx, throttle.Cost{}, func(context.Context) error { return nil }) == nil
			}
		}
	}
	alone(b, []call{
		{"aimd", under(adaptive.AIMD{Initial: 1_000, Max: 1_000})},
		{"measured", under(adaptive.Measured{})},
	})
}
