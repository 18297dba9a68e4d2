package inflight

//nolint:gochecknoglobals // package guard registers it, which is above this one
var impatient func(call, policy any)

// OnImpatient registers what Impatient does. Package guard calls it.
func OnImpatient(f func(call, policy any)) { impatient = f }

// Impatient has a *guard.Call end with its last failure if its context ends
// before the next attempt, instead of waiting for that. policy is the
// *retry.Policy for a guard without a Retry, or nil.
func Impatient(call, policy any) { impatient(call, policy) }
