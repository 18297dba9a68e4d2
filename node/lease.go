package node

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/headrace/headrace/internal/panics"

	"github.com/headrace/headrace/journal"
)

// claimKey names the part among all that the scope has opened, in any journal.
func (r *resume[In]) claimKey() any {
	type key struct {
		journal any
		part    journal.Part
	}
	if !reflect.ValueOf(r.journal).Comparable() {
		return key{part: r.part}
	}
	return key{r.journal, r.part}
}

// beat renews the claim for as long as the run goes on. lost is called, once, if
// another run has taken the part over.
func (r *resume[In]) beat(lost func(error)) {
	every := r.progress.RenewWithin / 3
	if every <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // release calls it
	r.unbeat = cancel
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			// Other errors may pass. If they do not, the claim lapses, and Finish fails once it was taken.
			if err := r.renew(ctx); errors.As(err, new(*journal.HeldError)) || errors.Is(err, journal.ErrNotOpen) {
				lost(err)
				return
			}
		}
	}()
}

func (r *resume[In]) renew(ctx context.Context) (err error) {
	defer panics.Catch(&err)
	return r.journal.Renew(ctx, r.part, r.owner, time.Now())
}

// release ends the claim, unless another run of the scope has the part too. A journal that
// hangs is left behind, and a claim that cannot be released lapses.
func (r *resume[In]) release() {
	if r.unbeat != nil {
		r.unbeat()
	}
	released := make(chan struct{})
	go func() {
		defer close(released) // also if the journal calls runtime.Goexit
		r.claim.Give(func() {
			ctx, cancel := context.WithTimeout(context.Background(), commitPatience)
			defer cancel()
			_ = r.unclaim(ctx)
		})
	}()
	patience := time.NewTimer(commitPatience)
	defer patience.Stop()
	select {
	case <-released:
	case <-patience.C:
	}
}

func (r *resume[In]) unclaim(ctx context.Context) (err error) {
	defer panics.Catch(&err)
	return r.journal.Release(ctx, r.part, r.owner)
}
