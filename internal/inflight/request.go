package inflight

import "github.com/headrace/headrace/throttle"

//nolint:gochecknoglobals // package guard registers it, which is above this one
var request func(call, guard any, c throttle.Cost, policy any)

// OnRequest registers what Request does. Package guard calls it.
func OnRequest(f func(call, guard any, c throttle.Cost, policy any)) { request = f }

// Request begins call, a zero *guard.Call, on a *guard.Guard for a request of a transport. It ends with
// its last failure if its context ends before the next attempt, instead of waiting for that. policy
// is the *retry.Policy for a guard without a Retry, or nil.
func Request(call, guard any, c throttle.Cost, policy any) { request(call, guard, c, policy) }
