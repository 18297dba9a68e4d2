package providertest

import (
	"net/http"
	"time"
)

// Attempts returns how many times each key arrived, however it was answered;
// its length is the number of unique requests. Requests without a key are left
// out.
func (l Ledger) Attempts() map[string]int {
	attempts := make(map[string]int)
	for _, a := range l.arrivals {
		if a.Key != "" {
			attempts[a.Key]++
		}
	}
	return attempts
}

// TooMany returns how many arrivals were answered 429, by the limits or by
// Config.Fault.
func (l Ledger) TooMany() int {
	n := 0
	for _, a := range l.arrivals {
		if a.Status == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

// Between returns the ledger of the arrivals from one instant, included, to
// another, not included. Its counts are those of these arrivals alone, and
// PeakInFlight is the most that one of them found in flight, itself included.
func (l Ledger) Between(from, to time.Time) Ledger {
	var part Ledger
	for _, a := range l.arrivals {
		if a.At.Before(from) || !a.At.Before(to) {
			continue
		}
		part.arrivals = append(part.arrivals, a)
		part.Arrivals++
		part.PeakInFlight = max(part.PeakInFlight, a.InFlight)
		switch {
		case a.Admitted:
			part.Admitted++
			switch {
			case a.Done.IsZero():
				part.InFlight++
			case a.Aborted:
				part.Aborted++
			default:
				part.Served++
			}
		case a.Refused != NotRefused:
			part.Refused++
		case a.Faulted:
			part.Faulted++
		default:
			part.Invalid++
		}
	}
	return part
}
