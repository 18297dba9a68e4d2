package journal

import (
	"context"
	"iter"
	"time"
)

// Journal keeps records. All methods are safe for concurrent use, also from
// several processes where these share the journal. Times are kept to the microsecond.
//
// What cannot be kept is refused with a *fault.FieldError before anything changes.
// After Close every method fails with ErrClosed.
type Journal interface {
	// Open says how far p has come. The first Open, at at, notes version; one with
	// another version is a *VersionError, since results of different code or
	// different prompts must not mix. A Part is opened before its records are used,
	// once for all processes; else there is ErrNotOpen.
	Open(ctx context.Context, p Part, version string, at time.Time) (Progress, error)

	// Begin returns the record of k as it stands, and makes it Pending, begun at
	// at, if there was none, or if it was Failed and retry is set. That need not be
	// durable on return.
	Begin(ctx context.Context, k Key, at time.Time, retry bool) (Record, error)

	// Finish makes what became of Pending records durable, Done or Failed, together
	// with mark unless that is empty: all of it or nothing. All records are of p. Marks
	// take effect in the order of the calls. Records that were not Pending stay as they are
	// and come back in refused, as the journal has them.
	Finish(ctx context.Context, p Part, mark string, records ...Record) (refused []Record, err error)

	// All yields the records of p in no particular order. A Node of "" means all
	// nodes of the run. The records may change meanwhile; each is told as it is at one instant.
	All(ctx context.Context, p Part) iter.Seq2[Record, error]

	// Close gives up what the journal holds. It may be called again.
	Close() error
}

// LawKeeper is a Journal that also keeps what limiters have learnt, so that the
// next process starts warm. Both that ship are.
type LawKeeper interface {
	// SaveLaw replaces what is kept for the limiter of that name.
	SaveLaw(ctx context.Context, limiter string, saved Law) error
	// LoadLaw returns the zero Law if nothing is kept.
	LoadLaw(ctx context.Context, limiter string) (Law, error)
}

// Law is the state of a limiter's law, as adaptive.Saver gives it.
type Law struct {
	State []byte
	At    time.Time // when it was saved
}
