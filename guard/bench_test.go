package guard_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

func benchGuard(tb testing.TB) *guard.Guard {
	tb.Helper()
	l, err := guard.New(guard.Policy{Law: adaptive.AIMD{Initial: 1000, Max: 1000}})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func BenchmarkDo(b *testing.B) {
	ctx, l := context.Background(), benchGuard(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nothing)
	}
}

func BenchmarkDoNested(b *testing.B) {
	ctx, l := context.Background(), benchGuard(b)
	nested := func(ctx context.Context) error { return l.Do(ctx, throttle.Cost{}, nothing) }
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nested)
	}
}

func BenchmarkDoWithIntake(b *testing.B) {
	ctx, l := context.Background(), benchGuard(b)
	in, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = intake.With(ctx, in)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nothing)
	}
}

func BenchmarkDoParallel(b *testing.B) {
	l := benchGuard(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			_ = l.Do(ctx, throttle.Cost{}, nothing)
		}
	})
}

// The admission alone, with the controller.
func BenchmarkAcquire(b *testing.B) {
	ctx, l := context.Background(), benchGuard(b).Throttle()
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.Acquire(ctx, throttle.Cost{})
		p.Release()
	}
}

func BenchmarkDoTwoLayers(b *testing.B) {
	g := benchGuard(b)
	two := made(b, guard.Policy{Within: []*guard.Guard{g}, Limits: throttle.Limits{Concurrency: 1000}})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_ = two.Do(ctx, throttle.Cost{}, nothing)
	}
}

func BenchmarkDoWithoutLimits(b *testing.B) {
	ctx, g := context.Background(), made(b, guard.Policy{})
	b.ReportAllocs()
	for b.Loop() {
		_ = g.Do(ctx, throttle.Cost{}, nothing)
	}
}

// With each law.
func BenchmarkDoByLaw(b *testing.B) {
	for name, law := range map[string]adaptive.Law{"AIMD": adaptive.AIMD{}, "Measured": adaptive.Measured{}} {
		b.Run(name, func(b *testing.B) {
			g := made(b, guard.Policy{Law: law})
			b.ReportAllocs()
			for b.Loop() {
				_ = g.Do(b.Context(), throttle.Cost{}, nothing)
			}
		})
	}
}
