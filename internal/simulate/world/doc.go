// Package world is virtual time: a queue of what will happen, and a clock that
// leaps from one happening to the next. What happens at the same instant
// happens in the order it was arranged in, so equal beginnings have equal ends.
package world
