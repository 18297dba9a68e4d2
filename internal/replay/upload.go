package replay

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/clock"
)

// Upload is when the body of a request was last read. It is safe for concurrent
// use; a nil Upload records nothing.
type Upload struct {
	Clock *clock.Clock
	// Told says that Wrote is called when a request has been written. A short body that is
	// in memory need not be watched then.
	Told bool

	last atomic.Int64 // time.Duration by Clock; reading: a Read is waiting for the caller's body
}

const reading = math.MaxInt64

func (u *Upload) begin() {
	if u != nil {
		u.last.Store(reading)
	}
}

func (u *Upload) end() {
	if u != nil {
		u.last.Store(int64(u.Clock.Elapsed()))
	}
}

// Wrote notes that the request has been written, with its body.
func (u *Upload) Wrote() { u.end() }

// Last returns when the last Read ended; 0 means that there was none. During a Read
// it returns now, because the sender waits for the body and not for the provider.
func (u *Upload) Last(now time.Duration) time.Duration {
	return min(now, time.Duration(u.last.Load()))
}
