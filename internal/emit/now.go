package emit

import (
	"slices"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/tee"
)

// timeless is an observer that reads neither times nor durations of events.
type timeless interface{ Timeless() }

// Now is the present, for an event that o is sent. If no observer of o reads times it is the zero time, because a clock costs
// more than the rest of an event.
func Now(o event.Observer) time.Time {
	if reads(o) {
		return time.Now()
	}
	return time.Time{}
}

func reads(o event.Observer) bool {
	switch o := o.(type) {
	case nil, timeless:
		return false
	case several:
		return slices.ContainsFunc(o.Observers(tee.Key{}), reads)
	}
	return true
}
