package sqlitestore

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/headrace/headrace/journal"
)

// fresh knows which records cannot be in the file, so that Begin need not look for them: most items of most runs are
// new, and a query costs more than all else that the journal does at their beginning.
//
// The argument. A part without a single record, as the transaction of Open has seen it, gets records in two ways only:
//
//   - Through this Journal. Every Begin notes its item in a filter (see filter), before it does anything else, whether it
//     asks the file or not. Finish adds no record that was not begun. An item that the filter does not know was thus never
//     begun here since the Journal was opened.
//   - Through another Journal, after it has claimed the part, for which the lease of this one has to have lapsed. So the
//     knowledge holds for half the time of a lease after Open or Renew, by the times that these and Begin are given, as the
//     lease itself does. A clock that is behind the claim proves nothing. Release, Forget and a claim that is lost end it.
//
// A caller that begins items without a claim breaks that contract. For its sake alone a commit of another connection ends
// the knowledge as well; until this Journal notices it, at its next transaction, the item is new to both, as it was
// before while the beginning of one waited to be written.
//
// Two Begins of one item at the same time: one of them is the first at the filter. The other asks the file, and the first
// may be the later one at beginnings. If nothing was committed since it looked at the filter, beginnings know the item.
// If there was a commit they refuse it (see beginnings.add), and it asks the file like any other.
type fresh struct {
	mu    sync.Mutex
	parts map[journal.Part]claimed // guarded by mu
	begun filter                   // guarded by mu
	off   bool                     // always ask the file, for tests
}

// claimed is a part that had no record when it was claimed.
type claimed struct {
	id      int64
	renewed time.Time
}

func newFresh() *fresh {
	return &fresh{parts: map[journal.Part]claimed{}, begun: filter{seed: maphash.MakeSeed(), bits: make([]uint64, filterBits/64)}}
}

// begins notes that k begins, and returns its part if it can have no record.
func (f *fresh) begins(k journal.Key, at time.Time) (part int64, isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.begun.add(k)
	p, ok := f.parts[k.Part]
	age := at.Round(0).Sub(p.renewed) // by the clock that other processes read, which goes on while this one is suspended
	return p.id, ok && !known && !f.off && age >= 0 && age < leaseTime/2
}

// opened notes that a part is claimed, which has no record if empty is set.
func (f *fresh) opened(name journal.Part, id int64, empty bool, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.parts, name); empty {
		f.parts[name] = claimed{id, at.Round(0)}
	}
}

// renewed notes that the claim of a part was renewed.
func (f *fresh) renewed(name journal.Part, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.parts[name]; ok {
		p.renewed = at.Round(0)
		f.parts[name] = p
	}
}

// ended notes that a part may be changed by others.
func (f *fresh) ended(name journal.Part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, name)
}

// changed notes that another connection has written to the file.
func (f *fresh) changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.parts)
}

// filter is a set of keys that may say of a key that it holds it when it does not, and never the other way round
// (Bloom, Space/time trade-offs in hash coding with allowable errors, CACM 13(7), 1970). Its memory, 1 MiB, does not grow: of
// 200,000 items it mistakes one in 10,000 for a known one, of a million one in 50. Those cost a query.
type filter struct {
	seed maphash.Seed
	bits []uint64
}

const (
	filterBits   = 1 << 23
	filterHashes = 4
)

// add adds k, and reports whether it held it before.
func (f *filter) add(k journal.Key) (known bool) {
	sum := maphash.Comparable(f.seed, k)
	low, high := sum&(1<<32-1), sum>>32|1 // two hashes make all (Kirsch and Mitzenmacher, 2006)
	known = true
	for i := range uint64(filterHashes) {
		at := (low + i*high) % filterBits
		word, bit := &f.bits[at/64], uint64(1)<<(at%64)
		known = known && *word&bit != 0
		*word |= bit
	}
	return known
}
