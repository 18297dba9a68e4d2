package provider

import "time"

// slidingLog remembers when it admitted the last most calls, in a ring.
type slidingLog struct {
	per    time.Duration
	ring   []time.Duration // of admissions, the oldest at next once it is full
	next   int
	filled bool
}

func newLog(l Log) *slidingLog {
	if l.Max == 0 {
		return nil
	}
	return &slidingLog{per: l.Per, ring: make([]time.Duration, l.Max)}
}

// wait goes by the oldest of the last Max admissions: it has to be out of the window.
func (l *slidingLog) wait(now time.Duration) time.Duration {
	if !l.filled {
		return 0
	}
	return max(0, l.ring[l.next]+l.per-now)
}

func (l *slidingLog) take(now time.Duration) {
	l.ring[l.next] = now
	if l.next++; l.next == len(l.ring) {
		l.next, l.filled = 0, true
	}
}

func (l *slidingLog) fine(time.Duration, float64)  {}
func (l *slidingLog) scale(time.Duration, float64) {}
func (l *slidingLog) meter(time.Duration) Meter    { return Meter{} }
