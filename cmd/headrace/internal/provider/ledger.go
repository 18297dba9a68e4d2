package provider

import (
	"cmp"
	"slices"
	"time"

	"github.com/headrace/headrace/providertest"
)

// Ledger is what the provider received, and what it would have admitted.
type Ledger struct {
	providertest.Counts

	Seconds  float64 // from the first request to the last answer
	Possible float64 // requests that the request limit admits in that time; 0 means any number
	Limits   []Phase // over time

	Series *Series `json:",omitempty"` // if it was asked for
}

// Phase is a period with one limit. It counts the requests that arrived during the period.
type Phase struct {
	Limit    string  // "none" or such as "50/s"
	Rate     float64 // requests per second that it admits; 0 means any number
	From, To float64 // seconds since the first request
	Possible float64 // requests that it admits in that time, with a full bucket at the very beginning; 0 means any number
	Served   int
	Refused  int // answered 429 by the limits
	Faulted  int // answered by a fault; the limits do not count them
}

// Reveal returns the current ledger. It does not count time after the last response while nothing is in flight. If every is positive, the ledger
// contains a series with parts of that length.
func (s *Server) Reveal(every time.Duration) Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.Ledger()
	l := Ledger{Counts: all.Counts}
	begin := s.phases[0].from
	if begin.IsZero() {
		return l
	}
	end := s.endLocked(all)
	for i, p := range s.phases {
		to := end
		if i+1 < len(s.phases) && s.phases[i+1].from.Before(end) {
			to = s.phases[i+1].from
		}
		if to.Before(p.from) { // no request arrived after it began
			break
		}
		part := all.Between(p.from, to)
		if to.Equal(end) {
			part = all.Between(p.from, end.Add(time.Nanosecond))
		}
		one := Phase{
			Limit: cmp.Or(p.text, "none"), Rate: p.bucket.PerSecond, From: p.from.Sub(begin).Seconds(), To: to.Sub(begin).Seconds(),
			Possible: possible(p.bucket, to.Sub(p.from), i == 0), Served: part.Served, Refused: part.Refused, Faulted: part.Faulted,
		}
		l.Limits, l.Possible = append(l.Limits, one), l.Possible+one.Possible
	}
	l.Seconds = end.Sub(begin).Seconds()
	if slices.ContainsFunc(l.Limits, func(p Phase) bool { return p.Possible == 0 }) {
		l.Possible = 0
	}
	if every > 0 {
		l.Series = series(all, begin, end, every)
	}
	return l
}

// endLocked returns when the last response was ready, or now if one is outstanding.
func (s *Server) endLocked(all providertest.Ledger) time.Time {
	end := s.phases[0].from
	for a := range all.All() {
		switch {
		case a.Done.IsZero():
			return time.Now()
		case a.Done.After(end):
			end = a.Done
		}
	}
	return end
}

// possible returns how many requests a bucket admits at most.
func possible(b providertest.Bucket, in time.Duration, full bool) float64 {
	n := in.Seconds() * b.PerSecond
	if full {
		n += float64(b.Burst)
	}
	return n
}
