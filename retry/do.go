package retry

import (
	"context"
	"fmt"
	"time"
)

// Do calls fn until it returns nil, p does not retry its error, or ctx ends. It returns the last
// error of fn. If ctx ends during a delay, the error also matches context.Cause(ctx); if it has ended
// before, fn is not called. An invalid p is an error, and fn is not called either. A
// panic of fn is not recovered.
//
// Use a guard.Guard with this Policy for calls that are limited: Do does not wait out a Retry-After.
func Do(ctx context.Context, p Policy, fn func(ctx context.Context) error) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for s := p.Start(); ; {
		err := fn(ctx)
		delay, again := s.Next(err)
		if !again {
			return err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("retry: %w before another attempt after: %w", context.Cause(ctx), err)
		}
	}
}
