package adaptive_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/throttle"
)

func nothing(context.Context) error { return nil }

func benchLimiter(tb testing.TB) *adaptive.Limiter {
	tb.Helper()
	l, err := adaptive.New(adaptive.Config{Law: adaptive.AIMD{Initial: 1000, Max: 1000}})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func BenchmarkDo(b *testing.B) {
	ctx, l := context.Background(), benchLimiter(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nothing)
	}
}

func BenchmarkDoNested(b *testing.B) {
	ctx, l := context.Background(), benchLimiter(b)
	nested := func(ctx context.Context) error { return l.Do(ctx, throttle.Cost{}, nothing) }
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nested)
	}
}

func BenchmarkDoWithIntake(b *testing.B) {
	ctx, l := context.Background(), benchLimiter(b)
	in, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = intake.With(ctx, in)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, throttle.Cost{}, nothing)
	}
}

func BenchmarkDoParallel(b *testing.B) {
	l := benchLimiter(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			_ = l.Do(ctx, throttle.Cost{}, nothing)
		}
	})
}

// The admission alone, with the law asked and told of it.
func BenchmarkAcquire(b *testing.B) {
	ctx, l := context.Background(), benchLimiter(b).Throttle()
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.Acquire(ctx, throttle.Cost{})
		p.Release()
	}
}

func BenchmarkClassify(b *testing.B) {
	err := &sdkError{StatusCode: 429, Type: "requests", Response: answered(429, "Retry-After", "7").Response}
	b.ReportAllocs()
	for b.Loop() {
		adaptive.Classify(nil, err)
	}
}
