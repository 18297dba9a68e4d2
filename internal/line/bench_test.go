package line_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// A call that does not have to wait, with a line and without one.
func BenchmarkPass(b *testing.B) {
	g, err := guard.New(guard.Policy{Limits: throttle.Limits{Concurrency: 1000}})
	require.NoError(b, err)
	lines := line.New(line.Config{})
	for name, lined := range map[string]bool{"alone": false, "line": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ctx := b.Context()
					if lined {
						ctx, _ = lines.With(ctx, interactive("client"))
					}
					call := g.Begin(throttle.Cost{})
					if _, err := call.Admit(ctx); err != nil {
						b.Error(err)
					}
					_, _ = call.End(adaptive.Feedback{Verdict: adaptive.OK})
				}
			})
		})
	}
}
