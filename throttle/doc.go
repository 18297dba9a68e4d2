// Package throttle enforces the limits of one resource in one process, exactly
// and first in, first out. Package guard adds retries, presets and control laws,
// package quota limits that processes share.
//
//	lim, err := throttle.New(throttle.Limits{
//		Concurrency: 8,
//		Windows: []throttle.Window{
//			throttle.Sliding(500, time.Minute),
//			throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens),
//		},
//	})
//	...
//	p, err := lim.Acquire(ctx, throttle.Cost{Tokens: 900})
//	if err != nil {
//		return err // ctx ended, or the cost can never fit: nothing was taken
//	}
//	defer p.Release()
package throttle
