// Package tee is what package event and package emit share about event.Tee.
package tee

import "reflect"

// Key is the argument of the method that lists the observers of an event.Tee.
// Only packages of headrace can name it, so no other observer has that method
// by accident.
type Key struct{}

// Same reports whether a and b are certainly the same observer: equal pointers.
// Values of other types may not be comparable.
func Same(a, b any) bool {
	of := reflect.TypeOf(a)
	return of != nil && of.Kind() == reflect.Pointer && a == b
}
