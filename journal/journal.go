package journal

import (
	"context"
	"iter"
	"time"
)

// Journal keeps records. Methods are safe for concurrent use, also from several processes that share
// the journal. Times are kept to the microsecond. Invalid input fails with a *fault.FieldError and
// changes nothing.
type Journal interface {
	// Open claims p for owner, or fails with a *HeldError if another owner's Lease excludes it. The first
	// Open records version; another one fails with a *VersionError. An owner may open p again. A failed
	// Open changes nothing.
	Open(ctx context.Context, p Part, owner Owner, version string, at time.Time) (Progress, error)

	// Renew keeps the claim of owner from lapsing: see Progress.RenewWithin. It fails with a *HeldError
	// that is Lost if owner has p no longer.
	Renew(ctx context.Context, p Part, owner Owner, at time.Time) error

	// Release ends the claim of owner, if it has one. Others may open p when it returns.
	Release(ctx context.Context, p Part, owner Owner) error

	// Begin returns the record of k as it is, and makes it Pending, begun at at, if there was none, or if
	// it was Failed and retry is set. That need not be durable. It fails with ErrNotOpen if the Part was
	// never opened.
	Begin(ctx context.Context, k Key, at time.Time, retry bool) (Record, error)

	// Finish makes records of p Done or Failed, durably and together with mark unless that is empty: all
	// or nothing. It fails as Renew does unless owner has p. A mark describes an output with every record
	// of earlier calls and none of this one. Records that were not Pending are unchanged and returned in
	// refused.
	Finish(ctx context.Context, p Part, owner Owner, mark string, records ...Record) (refused []Record, err error)

	// All yields the records of p in no particular order. A Node of "" means all nodes of the run. Each
	// record is as it was at one instant.
	All(ctx context.Context, p Part) iter.Seq2[Record, error]

	// Close releases the journal. It may be called again.
	Close() error
}

// LawKeeper is a Journal that also keeps what limiters have learned.
type LawKeeper interface {
	// SaveLaw replaces the state of the limiter of that name.
	SaveLaw(ctx context.Context, limiter string, saved Law) error
	// LoadLaw returns the zero Law if there is none.
	LoadLaw(ctx context.Context, limiter string) (Law, error)
}

// Law is a saved controller state: see adaptive.Saver.
type Law struct {
	State []byte
	At    time.Time // when it was saved
}
