package goodput

import (
	"strconv"
	"time"

	"github.com/headrace/headrace/providertest"
)

// tally is what a ledger says about a span of time, by when requests arrived.
type tally struct {
	admitted int
	refused  int
	served   int
	busy     time.Duration // the sum of what the served ones took
	by       []int         // admitted, of each process
}

// count sums up what arrived at from or later, and before to.
func count(l providertest.Ledger, from, to time.Time, processes int) tally {
	t := tally{by: make([]int, processes)}
	for a := range l.All() {
		if a.At.Before(from) || !a.At.Before(to) {
			continue
		}
		switch {
		case a.Refused != "":
			t.refused++
		case a.Admitted:
			t.admitted++
			if i, err := strconv.Atoi(a.Key); err == nil && i >= 0 && i < processes {
				t.by[i]++
			}
			if a.Served() {
				t.served++
				t.busy += a.Done.Sub(a.At)
			}
		}
	}
	return t
}

// latency is the mean of what the served calls took; those that the end of the
// run cut off are not known. Without any it is the one that was to be expected.
func (t tally) latency(expected time.Duration) time.Duration {
	if t.served == 0 {
		return expected
	}
	return t.busy / time.Duration(t.served)
}

// Figures is what a contender got in one run.
type Figures struct {
	Goodput float64 // admitted calls, percent of what the oracle could have got
	Refused float64 // percent of the requests
	Jain    float64 // fairness between the processes: 1 is even, 1/n is all to one
}

// Run is what a contender got in one run over HTTP.
type Run struct {
	Figures         // of the measured time
	First   Figures // of the first minute
}

// figures sets a tally in relation to what was possible.
func (t tally) figures(possible float64) Figures {
	f := Figures{Jain: jain(t.by)}
	if possible > 0 {
		f.Goodput = 100 * float64(t.admitted) / possible
	}
	if all := t.admitted + t.refused; all > 0 {
		f.Refused = 100 * float64(t.refused) / float64(all)
	}
	return f
}

// jain is Jain's index (Jain, Chiu, Hawe, 1984).
func jain(by []int) float64 {
	var sum, squares float64
	for _, n := range by {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(by)) * squares)
}
