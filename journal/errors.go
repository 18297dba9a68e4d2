package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is what a journal fails with once it was closed.
	ErrClosed = errors.New("journal: it is closed")
	// ErrNotOpen is for a Part that nobody has opened.
	ErrNotOpen = errors.New("journal: the part of the run is not open: call Open first")
)

// VersionError is a Part that was recorded with another version than the one it
// is opened with.
type VersionError struct {
	Part             Part
	Recorded, Wanted string
}

// Error names both versions and what can be done.
func (e *VersionError) Error() string {
	return fmt.Sprintf("journal: run %q, node %q: its results are of version %q, and this is %q: "+
		"go on under another run's name, or forget the run and begin it anew", e.Part.Run, e.Part.Node, e.Recorded, e.Wanted)
}
