package throttle_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/throttle"
)

func BenchmarkAllow(b *testing.B) {
	l := newLimiter(b, windows(throttle.Bucket(1e9, 1<<30)))
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(throttle.Cost{})
	}
}

func BenchmarkTryRelease(b *testing.B) {
	l := newLimiter(b, windows(throttle.Sliding(1<<40, time.Microsecond)))
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.TryAcquire(throttle.Cost{})
		p.Release()
	}
}

func BenchmarkThreeWindows(b *testing.B) {
	l := newLimiter(b, threeWindows())
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.Acquire(ctx, throttle.Cost{Tokens: 900, Points: 2})
		p.Settle(throttle.Cost{Tokens: 800, Points: 1})
	}
}

func BenchmarkThreeWindowsParallel(b *testing.B) {
	l := newLimiter(b, threeWindows())
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _ := l.Acquire(ctx, throttle.Cost{Tokens: 900, Points: 2})
			p.Release()
		}
	})
}

// BenchmarkBlocked is a caller that waits for a slot every time, without a timer.
func BenchmarkBlocked(b *testing.B) {
	l := newLimiter(b, throttle.Limits{Concurrency: 1})
	ctx := b.Context()
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _ := l.Acquire(ctx, throttle.Cost{})
			p.Release()
		}
	})
}

// BenchmarkNested is callers of several limiters that wait for their own one and for one that all of them share.
func BenchmarkNested(b *testing.B) {
	const limiters, callers = 8, 8
	shared := newLimiter(b, throttle.Limits{Concurrency: 1})
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	for range limiters {
		both := []*throttle.Limiter{newLimiter(b, throttle.Limits{Concurrency: callers / 2}), shared}
		for range callers {
			wg.Go(func() {
				permits := make([]throttle.Permit, len(both))
				for left.Add(-1) >= 0 {
					_ = throttle.AcquireAll(b.Context(), both, throttle.Cost{}, nil, permits)
					permits[0].Release()
					permits[1].Release()
				}
			})
		}
	}
	wg.Wait()
}

// BenchmarkCancelled is a wait that its caller gives up, in a crowd that stays.
func BenchmarkCancelled(b *testing.B) {
	l := newLimiter(b, throttle.Limits{Concurrency: 1})
	_, _ = l.TryAcquire(throttle.Cost{})
	done := make(chan struct{})
	for range 1000 {
		go func() {
			_ = l.Wait(b.Context(), throttle.Cost{})
			done <- struct{}{}
		}()
	}
	for l.Stats().Waiting < 1000 { // until all of them wait
	}
	b.ReportAllocs()
	ctx := &endsAtOnce{Context: b.Context(), done: make(chan struct{})}
	close(ctx.done)
	for b.Loop() {
		ctx.err = nil
		_ = l.Wait(ctx, throttle.Cost{})
	}
	l.Close(nil)
	for range 1000 {
		<-done
	}
}

// endsAtOnce is a context that ends as soon as a call waits for it.
type endsAtOnce struct {
	context.Context //nolint:containedctx // it is one
	done            chan struct{}
	err             error
}

func (c *endsAtOnce) Done() <-chan struct{} {
	c.err = context.Canceled
	return c.done
}

func (c *endsAtOnce) Err() error { return c.err }
