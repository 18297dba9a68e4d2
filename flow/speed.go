package flow

import (
	"math"
	"time"
)

const (
	// speedOver is the time that a rate is measured over.
	speedOver = time.Minute
	// speedStep is the least time between two marks, which bounds their number.
	speedStep = time.Second
)

// speed measures how fast items end. It is pure: at is the time since the run
// began and never goes back, count is how many have ended by then.
type speed struct {
	begin time.Duration
	marks []mark // the first is the newest that is older than speedOver, or the begin
}

type mark struct {
	at    time.Duration
	count int64
}

func newSpeed(begin time.Duration) *speed { return &speed{begin: begin, marks: []mark{{at: begin}}} }

// observe keeps a mark, unless the last one is too recent.
func (s *speed) observe(at time.Duration, count int64) {
	if at-s.marks[len(s.marks)-1].at < speedStep {
		return
	}
	s.marks = append(s.marks, mark{at, count})
	old := s.from(at)
	s.marks = append(s.marks[:0], s.marks[old:]...)
}

// from is the index of the mark that a rate is measured from.
func (s *speed) from(at time.Duration) int {
	i := 0
	for i+1 < len(s.marks) && s.marks[i+1].at <= at-speedOver {
		i++
	}
	return i
}

// rate is items per second, 0 as long as no time has passed.
func (s *speed) rate(at time.Duration, count int64) float64 {
	return between(s.marks[s.from(at)], mark{at, count})
}

func between(a, b mark) float64 {
	if b.at <= a.at {
		return 0
	}
	return float64(b.count-a.count) / (b.at - a.at).Seconds()
}

// eta is how long left more items take; 0 if that is not known. The first
// answers of many come together, so a second is left for them to come. While nothing
// ends, be it that a gate is closed, it goes by all the time until now.
func (s *speed) eta(at time.Duration, count, left int64) time.Duration {
	if left <= 0 || at-s.begin < speedStep {
		return 0
	}
	rate := s.rate(at, count)
	if rate <= 0 {
		rate = between(mark{at: s.begin}, mark{at, count})
	}
	if rate <= 0 {
		return 0
	}
	ns := math.Ceil(float64(left) / rate * float64(time.Second))
	if ns >= math.MaxInt64 {
		return 0
	}
	return time.Duration(ns)
}
