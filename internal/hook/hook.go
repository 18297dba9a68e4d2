// Package hook gives package guard the parts of a throttle.Limiter that users
// do not see. throttle registers an opener; guard declares the interface that it
// needs and asserts it once for each limiter, so its calls are typed.
package hook

var open func(limiter any) any //nolint:gochecknoglobals // set once, by the init function of throttle

// Register sets what Open calls.
func Register(f func(limiter any) any) { open = f }

// Open returns the inside of a *throttle.Limiter. It panics if the two packages
// do not fit together, which every test of package guard finds.
func Open[I any](limiter any) I {
	return open(limiter).(I) //nolint:forcetypeassert // see above
}
