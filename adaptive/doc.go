// Package adaptive holds the limiter that learns: a throttle.Limiter, a
// control law that hears how every call went, and a detector that tells a
// refusal for rate from any other error.
//
// A refused call is not a failed call. It gives its slot back, waits at a gate
// that is shut for everybody on the key, and goes again with its old place in
// the queue; meanwhile the law has cut the number of calls in flight, once for
// the whole burst of refusals, and raises it again while calls succeed.
//
//	lim, err := adaptive.New(adaptive.Config{Name: "openai"})
//	...
//	err = lim.Do(ctx, throttle.Cost{Tokens: 900}, func(ctx context.Context) error {
//		return client.Complete(ctx, prompt)
//	})
//
// Laws are pure machines that get the time as an argument: Measured, the
// default, which finds what the provider allows; AIMD, the classic; and
// anything that implements Law and State. docs/adaptive.md shows them at work.
package adaptive
