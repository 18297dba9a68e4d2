package oracle

import (
	"cmp"
	"slices"
	"time"
)

// Units is how many units an entry can carry.
const Units = 5

// Weights is an amount of each unit: requests, tokens, input tokens, output
// tokens, points, in the order of throttle.Unit.
type Weights [Units]int64

// Kind says what an entry of a log tells.
type Kind uint8

const (
	// Admission is a call that was admitted, or that arrived. It alone is judged.
	Admission Kind = iota
	// Debit is charged later, because a call cost more than was reserved. It
	// may exceed any limit, and counts for the admissions after it.
	Debit
	// GiveBack lowers the weights of the entry Of by its own: as if so much had
	// not been taken, for all entries that are judged after it.
	GiveBack
	// End is the end of the call that was admitted with the entry Of.
	End
	// Resize puts the rule To in the place of the rule with the index Of.
	Resize
)

// Entry is one line of a log. Entries are numbered from 0 in the order of the
// log, which must also be the order of At.
type Entry struct {
	At      time.Duration // since whatever instant the log calls 0
	Kind    Kind
	Weights Weights // Admission, Debit, GiveBack: not negative
	Of      int     // GiveBack, End: the number of an earlier entry; Resize: the index of a rule
	To      *Rule   // Resize: of the same kind and unit as the rule it replaces

	// Ticket is the place in the order of arrival that FIFO looks at; 0 is none.
	Ticket int64
	// Returning marks an admission that went back to a place it had before, and
	// so may come after later tickets.
	Returning bool
}

// Settled returns the log as it looks in the end: what was given back was never
// taken, not even by calls that were admitted before it was known. That judges
// what was really used, and less strictly. Entries keep their numbers.
func Settled(log []Entry) []Entry {
	log = slices.Clone(log)
	for i, e := range log {
		if e.Kind != GiveBack || e.Of < 0 || e.Of >= i {
			continue
		}
		for u, n := range e.Weights {
			log[e.Of].Weights[u] -= n
		}
		log[i].Weights = Weights{}
	}
	return log
}

// Call is a call as a server sees it.
type Call struct {
	At, Done time.Duration // it is in progress in [At, Done); Done before At: for ever
	Weights  Weights
}

// Timeline makes a log of calls in any order. Calls that end at an instant make
// room for those that begin at it.
func Timeline(calls []Call) []Entry {
	type event struct {
		at    time.Duration
		end   bool // of a call that began earlier
		call  int
		entry Entry
	}
	events := make([]event, 0, 2*len(calls))
	for i, c := range calls {
		events = append(events, event{c.At, false, i, Entry{At: c.At, Weights: c.Weights}})
		if c.Done >= c.At {
			events = append(events, event{c.Done, c.Done > c.At, i, Entry{At: c.Done, Kind: End}})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.end == b.end:
			return 0
		case a.end:
			return -1
		}
		return 1
	})
	log, began := make([]Entry, len(events)), make([]int, len(calls))
	for i, e := range events {
		log[i] = e.entry
		if e.entry.Kind == End {
			log[i].Of = began[e.call]
		} else {
			began[e.call] = i
		}
	}
	return log
}
