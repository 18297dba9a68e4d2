package throttle

import (
	"fmt"
	"time"
)

// BoundKind is what can hold a call back.
type BoundKind uint8

const (
	// NotBound means that nothing does.
	NotBound BoundKind = iota
	// BoundByWindow means a window of the Limits.
	BoundByWindow
	// BoundByConcurrency means the concurrency of the Limits.
	BoundByConcurrency
	// BoundByPause means PauseUntil or, in a quota.Store, a cooldown.
	BoundByPause
	// BoundByGovernor means the controller.
	BoundByGovernor
	// BoundByStore means limits that are shared through a quota.Store.
	BoundByStore
	// BoundByOther means limits of another guard that the call needs.
	BoundByOther
)

// Bound is what holds a call back, and for how long.
type Bound struct {
	Kind   BoundKind
	Window Window        // of BoundByWindow and BoundByStore
	Wait   time.Duration // from now; Forever if only an event helps
}

// name is what binds.
func (b Bound) name() string {
	switch b.Kind {
	case BoundByWindow:
		return b.Window.String()
	case BoundByConcurrency:
		return "the concurrency"
	case BoundByPause:
		return "a pause"
	case BoundByGovernor:
		return "the controller"
	case BoundByStore:
		if b.Window == (Window{}) {
			return "the store"
		}
		return b.Window.String() + " in the store"
	case BoundByOther:
		return "another guard"
	case NotBound:
	}
	return "nothing"
}

// String returns text such as "100/s for another 40ms".
func (b Bound) String() string {
	switch {
	case b.Kind == NotBound:
		return b.name()
	case b.Wait == Forever:
		return b.name() + " until a call ends"
	}
	return fmt.Sprintf("%s for another %s", b.name(), b.Wait)
}
