package journal

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by every method of a closed journal.
	ErrClosed = errors.New("journal: it is closed")
	// ErrNotOpen is returned for a Part that was not opened, or was forgotten since.
	ErrNotOpen = errors.New("journal: the part of the run is not open: call Open first")
)

// HeldError is returned for a Part that another run records.
type HeldError struct {
	Part   Part
	Lease  Lease     // of the other run; zero if it has ended
	Lapses time.Time // when the Lease lapses unless renewed; zero if never, or if Lost
	Lost   bool      // the other run has taken the Part over
}

// Error names the other run and the remedy.
func (e *HeldError) Error() string {
	of := fmt.Sprintf("journal: run %q, node %q", e.Part.Run, e.Part.Node)
	switch {
	case e.Lost && e.Lease.Owner.ID == "":
		return of + ": another run has taken it over meanwhile, and has ended: run it again to resume"
	case e.Lost:
		return fmt.Sprintf("%s: another run has taken it over: %s, at %s. What was not recorded is left to that run",
			of, e.Lease.Owner, clock(e.Lease.Since))
	}
	text := fmt.Sprintf("%s: another run is recording it: %s, since %s: wait for it, stop it, or use another run name",
		of, e.Lease.Owner, clock(e.Lease.Since))
	if !e.Lapses.IsZero() {
		text += ". If it is dead, try again after " + clock(e.Lapses)
	}
	return text
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// VersionError is returned for a Part that was recorded with another version.
type VersionError struct {
	Part             Part
	Recorded, Wanted string
}

// Error names both versions and the remedy.
func (e *VersionError) Error() string {
	return fmt.Sprintf("journal: run %q, node %q: its results are of version %q, and this is %q: "+
		"use another run name, or forget the run and begin it again", e.Part.Run, e.Part.Node, e.Recorded, e.Wanted)
}
