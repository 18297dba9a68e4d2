// Package throttle enforces the limits of one resource: exactly, first in
// first out, and cheaply, in one process. Package quota shares limits between processes.
//
// Limits are a concurrency bound and any number of windows. A Limiter takes a
// slot and a share of every window at one instant or not at all, returns a
// Permit, and can be resized while calls wait. Package guard adds retries, what
// providers document, and control laws.
//
// Limits can be written in Go, or as text for ParseLimits:
// "500/min, 200000 tokens/min, 8 concurrent".
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
