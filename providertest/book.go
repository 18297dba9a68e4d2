package providertest

import (
	"slices"
	"time"
)

// book is where a server writes its ledger. It is not safe for concurrent use.
type book struct {
	counts   Counts
	arrivals []Arrival
	attempts map[string]int // by key
}

// open enters an arrival and returns its number. An arrival that was neither
// admitted nor refused is done: end will not be called for it.
func (b *book) open(a Arrival) int64 {
	b.counts.Arrivals++
	switch {
	case a.Admitted:
		b.counts.Admitted++
		b.counts.InFlight++
		b.counts.PeakInFlight = max(b.counts.PeakInFlight, b.counts.InFlight)
	case a.Refused != "":
		b.counts.Refused++
	case a.Faulted:
		b.counts.Faulted++
	default:
		b.counts.Invalid++
	}
	a.Seq = int64(b.counts.Arrivals)
	if a.Key != "" {
		if b.attempts == nil {
			b.attempts = make(map[string]int)
		}
		b.attempts[a.Key]++
		a.Attempt = b.attempts[a.Key]
	}
	a.InFlight = b.counts.InFlight
	b.arrivals = append(b.arrivals, a)
	return a.Seq
}

// end notes how an admitted or refused request was answered; status 0 means not
// at all, and whole that it got a proper answer to its end. Only the first end of
// an arrival counts. It reports whether a call in flight ended by it.
func (b *book) end(seq int64, status int, whole bool, used Tokens, now time.Time) bool {
	a := &b.arrivals[seq-1]
	if !a.Done.IsZero() {
		return false
	}
	a.Done, a.Status = now, status
	if !a.Admitted {
		return false
	}
	b.counts.InFlight--
	a.Used = used
	if whole {
		b.counts.Served++
	} else {
		a.Aborted = true
		b.counts.Aborted++
	}
	return true
}

// snapshot copies the book.
func (b *book) snapshot() Ledger {
	return Ledger{Counts: b.counts, arrivals: slices.Clone(b.arrivals)}
}
