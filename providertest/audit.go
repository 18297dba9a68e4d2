package providertest

import "iter"

// Audit compares the items that a client meant to send with those the server served; see
// [Ledger.Audit].
type Audit struct {
	// Lost are the keys that were never served, in the order given.
	Lost []string
	// Twice are the keys that were served more than once, in the order given.
	Twice []string
	// Unknown are the keys that arrived and were not given, by first arrival.
	Unknown []string
	// Keyless counts the served calls without a key.
	Keyless int
}

// OK reports whether every key was served exactly once, and nothing else.
func (a Audit) OK() bool {
	return len(a.Lost) == 0 && len(a.Twice) == 0 && len(a.Unknown) == 0 && a.Keyless == 0
}

// Audit compares the ledger with keys that should have been served once each. A repeated key counts
// once.
func (l Ledger) Audit(keys iter.Seq[string]) Audit {
	var audit Audit
	served := l.byKey()
	known := make(map[string]bool)
	for key := range keys {
		if known[key] {
			continue
		}
		known[key] = true
		switch n := served[key]; {
		case n == 0:
			audit.Lost = append(audit.Lost, key)
		case n > 1:
			audit.Twice = append(audit.Twice, key)
		}
	}
	for _, a := range l.arrivals {
		switch {
		case a.Key == "":
			if a.Served() {
				audit.Keyless++
			}
		case !known[a.Key]:
			known[a.Key] = true
			audit.Unknown = append(audit.Unknown, a.Key)
		}
	}
	return audit
}
