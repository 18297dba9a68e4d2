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
	// Open claims p for owner, for one run at a time: it fails with a *HeldError
	// if the Lease of another owner excludes owner at that time. The first Open notes
	// version; one with another version fails with a *VersionError, since results of
	// different code or different prompts must not mix. An owner may open p again.
	// An Open that fails changes nothing.
	Open(ctx context.Context, p Part, owner Owner, version string, at time.Time) (Progress, error)

	// Renew keeps the claim of owner from lapsing; see Progress. It fails with a
	// *HeldError that is Lost if owner has p no more.
	Renew(ctx context.Context, p Part, owner Owner, at time.Time) error

	// Release ends the claim of owner, if it has one. Other owners may open p as soon as it
	// returns.
	Release(ctx context.Context, p Part, owner Owner) error

	// Begin returns the record of k as it is, and makes it Pending, begun at
	// at, if there was none, or if it was Failed and retry is set. That need not be
	// durable on return. The Part has to have been opened by any owner, once; else
	// it fails with ErrNotOpen.
	Begin(ctx context.Context, k Key, at time.Time, retry bool) (Record, error)

	// Finish makes what became of Pending records durable, Done or Failed, together
	// with mark unless that is empty: all of it or nothing. All records are of p, and
	// owner has p; else it fails as Renew does. A mark describes an output that has every
	// record of the calls before this one, and none of this one. Records that were not Pending
	// stay as they are and come back in refused, as the journal has them.
	Finish(ctx context.Context, p Part, owner Owner, mark string, records ...Record) (refused []Record, err error)

	// All yields the records of p in no particular order. A Node of "" means all
	// nodes of the run. The records may change meanwhile; each is as it was at one instant.
	All(ctx context.Context, p Part) iter.Seq2[Record, error]

	// Close gives up what the journal holds. It may be called again.
	Close() error
}

// LawKeeper is a Journal that also keeps what limiters have learnt, so that the
// next process starts warm. Both journals of this project are one.
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
