package journal

import (
	"context"
	"iter"
	"time"
)

// Journal keeps records. Methods are safe for concurrent use, also from several processes that share
// the journal. Times are kept to the microsecond. Input that cannot be kept fails with a
// *fault.FieldError and changes nothing. After Close every method fails with ErrClosed.
type Journal interface {
	// Open claims p for owner, or fails with a *HeldError if the Lease of another owner excludes it. The
	// first Open records version; another one fails with a *VersionError. An owner may open p again. A
	// failed Open changes nothing.
	Open(ctx context.Context, p Part, owner Owner, version string, at time.Time) (Progress, error)

	// Renew keeps the claim of owner from lapsing: see Progress.RenewWithin. It fails with a *HeldError
	// that is Lost if owner has p no longer.
	Renew(ctx context.Context, p Part, owner Owner, at time.Time) error

	// Release ends the claim of owner, if it has one. Others may open p when it returns.
	Release(ctx context.Context, p Part, owner Owner) error

	// Begin returns the record of k as it is, and makes it Pending, begun at at, if there was none, or if
	// it was Failed and retry is set. That need not be durable on return. It fails with ErrNotOpen unless
	// some owner has opened the Part.
	Begin(ctx context.Context, k Key, at time.Time, retry bool) (Record, error)

	// Finish makes records Done or Failed, durably and together with mark unless that is empty: all or
	// nothing. All records are of p, and owner has p; else it fails as Renew does. A mark describes an
	// output with every record of earlier calls and none of this one. Records that were not Pending are
	// unchanged and returned in refused, as the journal has them.
	Finish(ctx context.Context, p Part, owner Owner, mark string, records ...Record) (refused []Record, err error)

	// All yields the records of p in no particular order. A Node of "" means all nodes of the run. Each
	// record is as it was at one instant.
	All(ctx context.Context, p Part) iter.Seq2[Record, error]

	// Close releases the journal. It may be called again.
	Close() error
}

// LawKeeper is a Journal that also keeps what limiters have learnt, so that the next process does not
// start from scratch.
type LawKeeper interface {
	// SaveLaw replaces the state of the limiter of that name.
	SaveLaw(ctx context.Context, limiter string, saved Law) error
	// LoadLaw returns the zero Law if there is none.
	LoadLaw(ctx context.Context, limiter string) (Law, error)
}

// Law is the saved state of a controller, as adaptive.Saver returns it.
type Law struct {
	State []byte
	At    time.Time // when it was saved
}
