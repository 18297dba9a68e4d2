package decide

import (
	"sync"
	"time"
)

const (
	// skewTolerance is how far the clock of a store may be off without being a jump.
	skewTolerance = time.Second
	// mostSkew bounds how long a jump of the clock closes the service.
	mostSkew = time.Hour
	// skewDrift is one over how much faster or slower the clock of a store may run.
	skewDrift = 1000
)

// skew watches the clock of a store. If it jumps ahead by d, windows have forgotten d too
// early, and limits would be exceeded. So checks are refused for d, but for an hour at
// most. If it jumps back, windows stand still, and checks are refused for as long. It has not
// jumped if this machine was suspended meanwhile, when the clock here stood still.
type skew struct {
	shift  func(time.Duration)
	asleep func() time.Duration // how long this machine has been suspended in all

	mu     sync.Mutex    // guards all below
	known  bool          // there was a sample
	offset time.Duration // the store's time less ours, at the last sample
	seen   time.Duration // our time at the last sample
	at     time.Duration // the store's time at the latest sample since a jump
	slept  time.Duration // asleep when it was looked at last
	looked time.Duration // when that was, by our time
	until  time.Duration // our time when checks are let in again
	jumps  int64
	last   time.Duration // the last jump
}

// wait returns how long checks are refused from now on.
func (s *skew) wait(now time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.until-now)
}

// sample notes that the store's time was at, in nanoseconds, between two instants of ours.
func (s *skew) sample(before, after time.Duration, at int64) {
	if after-before > skewTolerance {
		return // it says too little
	}
	jump := s.note(before, after, time.Duration(at))
	if jump != 0 && s.shift != nil {
		s.shift(jump)
	}
}

func (s *skew) note(before, after, at time.Duration) (jump time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset := at - before - (after-before)/2
	if !s.known {
		s.known, s.offset, s.seen, s.at = true, offset, after, at
		s.look(after)
		return 0
	}
	jump = offset - s.offset
	if jump > skewTolerance {
		jump -= s.woken(after, jump)
	}
	if sure := jump + (after-before)/2; sure < 0 && at >= s.at {
		// The clock is slow, as that of a SQLite file is after the clock of the host was set back. No window expires too early.
		s.offset += sure
		jump -= sure
	}
	if jump.Abs() <= skewTolerance+(after-before) {
		// Clocks run apart slowly. The offset follows, but so slowly that a series of small jumps does not pass.
		most := max(0, after-s.seen) / skewDrift
		s.offset += min(max(jump, -most), most)
		s.seen, s.at = max(s.seen, after), max(s.at, at)
		if after-s.looked >= probeEvery {
			s.look(after) // what the clock of the store has not noticed is no reason for a later jump
		}
		return 0
	}
	s.until = max(s.until, after+min(jump.Abs(), mostSkew))
	s.jumps++
	s.last, s.offset, s.seen, s.at = jump, offset, after, at
	return jump
}

// woken returns how much of a jump is due to a suspension of this machine, and adds it to offset.
func (s *skew) woken(now, jump time.Duration) time.Duration {
	slept := s.look(now)
	if slept <= skewTolerance { // it is measured to a microsecond
		return 0
	}
	slept = min(slept, jump)
	s.offset += slept
	return slept
}

// look returns how long this machine was suspended since the last look.
func (s *skew) look(now time.Duration) time.Duration {
	total := s.asleep()
	slept := total - s.slept
	s.slept, s.looked = total, now
	return slept
}

// stats returns how often the clock has jumped, and the last jump.
func (s *skew) stats() (jumps int64, last time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jumps, s.last
}
