package providertest

import "iter"

// Audit tells how the items a client meant to send differ from those the server
// served; see [Ledger.Audit]. Its zero value says that they are the same.
type Audit struct {
	// Lost are the keys that were never served, in the order they were asked for.
	Lost []string
	// Twice are the keys that were served more than once, in the same order.
	Twice []string
	// Unknown are the keys that arrived and were not asked for, in the order of
	// their first arrival.
	Unknown []string
	// Keyless counts the served calls that carried no key, which no audit can
	// place.
	Keyless int
}

// OK reports whether every key was served exactly once, and nothing else.
func (a Audit) OK() bool {
	return len(a.Lost) == 0 && len(a.Twice) == 0 && len(a.Unknown) == 0 && a.Keyless == 0
}

// Audit joins the ledger with the keys that should have been served once each.
// A key that is given repeatedly counts as one. It reads keys to the end.
func (l Ledger) Audit(keys iter.Seq[string]) Audit {
	var audit Audit
	served := l.ByKey()
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
