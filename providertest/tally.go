package providertest

import (
	"net/http"
	"time"
)

// Attempts returns how often each key arrived.
func (l Ledger) Attempts() map[string]int {
	attempts := make(map[string]int)
	for _, a := range l.arrivals {
		if a.Key != "" {
			attempts[a.Key]++
		}
	}
	return attempts
}

// TooMany returns how many arrivals were answered 429, by the limits or by Config.Fault.
func (l Ledger) TooMany() int {
	n := 0
	for _, a := range l.arrivals {
		if a.Status == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

// Between returns the ledger of the arrivals in [from, to). Counts are of these arrivals alone, and
// PeakInFlight is the maximum of their InFlight.
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
		case a.Refused != "":
			part.Refused++
		case a.Faulted:
			part.Faulted++
		default:
			part.Invalid++
		}
	}
	return part
}
