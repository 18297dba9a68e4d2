package throttle

import (
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/meter"
)

// The fast path of Allow for one exact sliding window of requests: a call of one request is admitted by one
// compare-and-swap, as with a bucket (fast.go), and under the lock the limiter is again as if all had gone the slow way.
//
// Units are numbered in the order in which they are taken. Unit i fits at an instant if unit i-max no longer counts then:
// the units after it are younger, so max of them count if and only if that one does. The state is a ring of words. A word
// holds the number of a unit and when it was taken, until the next unit with the same place in the ring replaces it. The
// front is the place of the next unit. A call reads the word there, the word before it and the word of unit i-max, and
// takes unit i by replacing the word at the front (take). If that succeeds, the other two are as they were read: only
// later units replace them, and these come after unit i.
//
//   - The instant. A call reads its clock first, and may be overtaken. So a unit is taken no earlier than the unit before
//     it, nor than the ring was opened, and fits or not as of the instant that is noted. That instant is in the past when
//     the call takes effect, and it is not before the call began.
//   - The front. A search for it may begin at any unit: the word there says its own number, and the front is after that.
//   - A refusal changes nothing. It is right if the word of unit i-max still has that number, so that max units count. A
//     sealed word has a number that no unit has, so a call that finds one there searches on, and finds the seal.
//   - Taking the lock seals the front. A search ends at a sealed word, and a call that was about to replace it fails. What
//     was taken since the ring was opened is charged to the window: the last max units, as older ones no longer count.
//   - Opening the ring again writes the units that count in the window now. The sealed place gets the last of them, under
//     its own number, and is written last. So each place holds the number that it had, or a larger one, and a call that
//     has read a word before the seal, to replace it, finds a larger number there.
//
// A window that rounded stamps up may have left one that is later than now. The units after it would be taken as of that
// instant, when others do not count any more, so the ring is not opened before it has come.
//
// A ring has room for the units that count, and grows as the window does, up to max. Writing the ring costs as much as
// one slow call for each few units, so it is opened only after as many slow calls (openRingLocked).

// ring is the state of a limiter while it is open.
type ring struct {
	base   instant       // from which the words count
	max    uint64        // units that may count
	per    time.Duration // for which they do
	back   uint64        // how many units before one the word is that it depends on; less than max: the ring can grow
	words  []atomic.Uint64
	taken  atomic.Uint64 // number of a unit that was taken, one of the last if possible
	opened atomic.Int64  // when it was
	first  uint64        // number of the unit after those that were written; guarded by the lock
	filled bool          // back units counted when it was sealed; guarded by the lock
}

const (
	fewWords = 8 // of the smallest ring
	hinted   = 4 // units for each note of where the front is
	copied   = 8 // units that cost as much to write as a slow call
)

func (r *ring) word(i uint64) *atomic.Uint64 { return &r.words[i&uint64(len(r.words)-1)] } //nolint:gosec // there are words

func number(word uint64) uint64 { return word >> instantBits }

func when(word uint64) instant { return instant(word & instantMask) }

// allow admits or refuses a call of one request.
func (r *ring) allow(now instant) verdict {
	i := r.taken.Load()
	return r.take(i, r.word(i).Load(), 0, now-r.base)
}

// take searches for the front from unit i, whose place held word, and takes the unit there if it fits. last is the word
// of the unit before i; it is not used if unit i was taken.
func (r *ring) take(i, word, last uint64, now instant) verdict {
	for ; i < mostCounted; word = r.word(i).Load() { // the number of a sealed word is larger
		if n := number(word); n == i { // the next i is not computed from n, so that the processor can look ahead
			last = word
			i++
			continue
		} else if n > i {
			last = word
			i = n + 1
			continue
		}
		at := max(now, when(last), instant(r.opened.Load()))
		oldest := r.word(i - r.back).Load()
		switch {
		case at > instantMask:
			return undecided
		case at-when(oldest) >= r.per:
			if r.replace(i, word, at) {
				return allowed
			}
		case r.back < r.max:
			return undecided
		case number(oldest) == i-r.back:
			return refused
		}
	}
	return undecided
}

// replace takes unit i, unless its place does not hold word any more.
func (r *ring) replace(i, word uint64, at instant) bool {
	if !r.word(i).CompareAndSwap(word, i<<instantBits|uint64(at)) { //nolint:gosec // it is positive
		return false
	}
	if i%hinted == 0 {
		r.taken.Store(i)
	}
	return true
}

// seal ends the time in which units can be taken, and returns the number of the first that was not.
func (r *ring) seal() uint64 {
	for i := r.taken.Load(); ; {
		word := r.word(i).Load()
		if n := number(word); n >= i {
			i = n + 1
		} else if r.word(i).CompareAndSwap(word, word|sealed) {
			return i
		}
	}
}

// foldRingLocked seals r and charges what was admitted by it.
func (l *Limiter) foldRingLocked(r *ring) {
	end := r.seal()
	m := l.gauges[0].Sliding()
	n := end - r.first
	l.countLocked(int64(n), &amounts{Requests: int64(n)}) //nolint:gosec // it has 19 bits
	for i := end - min(n, r.back); i < end; i++ {
		m.Take(r.base+when(r.word(i).Load()), 1)
	}
	next := max(when(r.word(end-1).Load()), instant(r.opened.Load())) // a unit was taken no earlier
	r.filled = next-when(r.word(end-r.back).Load()) < r.per
	r.first = end + 1
}

// openRingLocked opens the ring after a slow call, if there were enough of these to pay for it.
func (l *Limiter) openRingLocked(now instant) {
	m := l.gauges[0].Sliding()
	units := uint64(max(0, l.gauges[0].Spent(now)))
	if l.slow++; l.slow < units/copied || m.Ahead(now) {
		return
	}
	f, counted := l.fast.Load(), units
	if f != nil && f.ring.filled { // calls are slower since, so that fewer units count now
		counted = max(units, f.ring.back)
	}
	if f == nil || f.ring.spent(now, counted) {
		if f = l.ringOf(now, m, counted); f == nil {
			return
		}
	}
	f.ring.write(now, m, units)
	l.fast.Store(f)
	l.slow, l.open = 0, true
}

// spent reports whether a ring has no room left: for the instant, for the numbers, or for as many units.
func (r *ring) spent(now instant, units uint64) bool {
	return now-r.base > instantMask/2 || r.first > mostCounted/2 || units >= r.back && r.back < r.max
}

// ringOf returns a ring with room for twice as many units, or nil if the window cannot be expressed.
func (l *Limiter) ringOf(now instant, m *meter.Sliding, units uint64) *fast {
	per, ok := m.Exact()
	if !ok || per > instantMask/4 {
		l.simple = false
		return nil
	}
	f := &fast{ring: ring{base: now - per, max: uint64(l.gauges[0].Max), per: per}} //nolint:gosec // it is positive
	r, size := &f.ring, fewWords
	for uint64(size) < min(r.max, 2*units) {
		size *= 2
	}
	r.words = make([]atomic.Uint64, size)
	r.first, r.back = uint64(size), min(r.max, uint64(size))
	return f
}

// write fills r with the units that count now, and opens it. The word before first, which may be sealed, is written last.
func (r *ring) write(now instant, m *meter.Sliding, units uint64) {
	size := uint64(len(r.words))
	r.opened.Store(int64(now - r.base))
	i := r.first - size
	put := func(at instant, n uint64) {
		for range n {
			r.word(i).Store(i<<instantBits | uint64(at)) //nolint:gosec // it is positive
			i++
		}
	}
	put(0, size-min(units, size)) // before all that counts
	skip := units - min(units, size)
	for at, n := range m.Stamps {
		skipped := min(skip, uint64(n)) //nolint:gosec // it is positive
		skip -= skipped
		put(at-r.base, uint64(n)-skipped) //nolint:gosec // it is positive
	}
	r.taken.Store(r.first - 1)
}
