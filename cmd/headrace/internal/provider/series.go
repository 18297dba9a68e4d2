package provider

import (
	"time"

	"github.com/headrace/headrace/providertest"
)

// Series counts the outcomes of requests over time: part i counts the requests that arrived from i*Every to (i+1)*Every
// seconds after the first one.
type Series struct {
	Every   float64 // seconds
	Served  []int
	Refused []int // answered 429 by the limits
	Faulted []int // answered by a fault
}

// mostParts bounds the length of a series: for a longer time, its parts get longer.
const mostParts = 1000

// series counts the requests that arrived from begin to end.
func series(all providertest.Ledger, begin, end time.Time, every time.Duration) *Series {
	for end.Sub(begin)/every >= mostParts {
		every *= 2
	}
	n := int(end.Sub(begin)/every) + 1
	s := &Series{Every: every.Seconds(), Served: make([]int, n), Refused: make([]int, n), Faulted: make([]int, n)}
	for a := range all.All() {
		part := int(a.At.Sub(begin) / every)
		switch {
		case a.At.Before(begin) || part >= n:
		case a.Served():
			s.Served[part]++
		case a.Admitted: // and not served
		case a.Refused != "":
			s.Refused[part]++
		case a.Faulted:
			s.Faulted[part]++
		}
	}
	return s
}
