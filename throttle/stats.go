package throttle

import "time"

// Stats is a snapshot of a limiter. The counts run since New or Reset.
type Stats struct {
	InFlight    int           // permits that have not ended
	Waiting     int           // callers in the queue
	Admitted    int64         // calls that were let go
	Refused     int64         // calls that found no room and did not wait, or could not in time
	Abandoned   int64         // waits that the caller's context ended
	Waits       int64         // waits that were served, by a permit or an error
	Waited      time.Duration // their sum
	LongestWait time.Duration
	PausedUntil time.Time // zero when there is no pause
	Closed      error     // why nobody is admitted; nil while the limiter is open
	// Bound is what binds now: what holds back the head of the queue or, if
	// nobody waits, what would hold back a call of one request.
	Bound Bound
}

func (s *Stats) addWait(d time.Duration) {
	s.Waits++
	s.Waited += d
	s.LongestWait = max(s.LongestWait, d)
}

// Stats returns a snapshot.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	now := l.nowLocked()
	s.InFlight, s.Waiting, s.Closed = l.inFlight, l.waitingLocked(), l.closed.reason(now)
	if l.paused > now {
		s.PausedUntil = l.clock.At(l.paused)
	}
	s.Bound = l.boundForLocked(now, Cost{})
	return s
}

// Reset sets the counts of Stats to zero. The history of the windows and a
// pause survive: what was sent was sent.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = Stats{}
}
