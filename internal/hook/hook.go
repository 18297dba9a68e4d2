// Package hook lets a package give another one of ours what users do not see of its types. It registers an opener; the
// other one declares the interface that it needs and asserts it once for each value, so its calls are typed. Package
// guard sees so the inside of a throttle.Limiter, and httpclient/endpoint that of a Client.
package hook

import "reflect"

var openers = map[reflect.Type]func(any) any{} //nolint:gochecknoglobals // filled by init functions and then only read

// Register sets what Open calls for a T. Call it from an init function.
func Register[T any](opener func(T) any) {
	openers[reflect.TypeFor[T]()] = func(of any) any { return opener(of.(T)) } //nolint:forcetypeassert // its type is the key
}

// Open returns the inside of a value. It panics if the two packages do not fit
// together, which every test of the one that calls it finds.
func Open[I any](of any) I {
	return openers[reflect.TypeOf(of)](of).(I) //nolint:forcetypeassert // see above
}
