package breaker_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/breaker"
)

func BenchmarkDo(b *testing.B) {
	k, err := breaker.New(breaker.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, fn := b.Context(), func(context.Context) error { return nil }
	b.Run("closed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = k.Do(ctx, fn)
		}
	})
	b.Run("closed, parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = k.Do(ctx, fn)
			}
		})
	})
	open, _ := newBreaker(b, breaker.Config{Failures: 1})
	_ = do(b, open, errDown)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = open.Do(ctx, fn)
		}
	})
}
