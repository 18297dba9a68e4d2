package inflight

//nolint:gochecknoglobals // package guard registers it, which is above this one
var impatient func(call any)

// OnImpatient registers what Impatient does. Package guard calls it.
func OnImpatient(f func(call any)) { impatient = f }

// Impatient has a *guard.Call end with its last failure if its context ends
// before the next attempt, instead of waiting for that.
func Impatient(call any) { impatient(call) }
