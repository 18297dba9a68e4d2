package throttle

import (
	"time"

	"github.com/headrace/headrace/internal/intake"
)

// Stats is a snapshot of a limiter. Counts run since New or Reset.
type Stats struct {
	InFlight    int           // permits that have not ended
	Waiting     int           // callers in the queue
	Admitted    int64         // calls
	Refused     int64         // calls that did not wait, or could not in time
	Abandoned   int64         // waits ended by their context
	Waits       int64         // waits that were served
	Waited      time.Duration // in all
	LongestWait time.Duration
	PausedUntil time.Time // zero when there is no pause
	Closed      error     // the reason given to Close; nil while open
	Bound       Bound     // what holds back the head of the queue, or a call of one request
}

func (s *Stats) addWait(d time.Duration) {
	s.Waits++
	s.Waited += d
	s.LongestWait = max(s.LongestWait, d)
}

// addEnd counts a wait that ended because of cause, unless the call will ask again.
func (s *Stats) addEnd(cause error) {
	if cause != intake.ErrOutranked { //nolint:errorlint // it is not wrapped
		s.Abandoned++
	}
}

// Stats returns a snapshot.
func (l *Limiter) Stats() Stats {
	l.lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Refused += l.refusals.Load()
	now := l.nowLocked()
	s.InFlight, s.Waiting, s.Closed = l.inFlight, l.waitingLocked(), l.closed.reason(now)
	if l.paused > now {
		s.PausedUntil = l.clock.At(l.paused)
	}
	s.Bound = l.boundForLocked(now, Cost{})
	return s
}

// Reset sets the counts of Stats to zero. History and a pause stay.
func (l *Limiter) Reset() {
	l.lock()
	defer l.mu.Unlock()
	l.stats = Stats{}
	l.refusals.Store(0)
}
