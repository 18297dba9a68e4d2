package throttle

import (
	"sync/atomic"
	"time"
	"unique"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/meter"
)

// The fast path of Allow: a limiter with one token bucket of requests, and nothing else that could hold a call back,
// admits a call of one request by one compare-and-swap, without the lock.
//
// The state is one word: how many calls were admitted since it was opened, and when the bucket is full again. That
// instant is all that a bucket is (see meter.Bucket), as long as one unit refills in whole nanoseconds. A call computes
// the next word from the one that it has read, and takes effect if no other call did in between.
//
// Taking the lock (lock) seals the word, so that no call takes effect by it any more, and folds what it says into the
// bucket and the counts. Under the lock the limiter is thus as if all these calls had gone the slow way:
//
//   - The bucket. Resume sets when it is full again. How empty it was in between, which the end of a permit would have
//     to know, is lost. So the word is opened only while no permit is out, and calls of Allow have none.
//   - The counts. Each admission has changed the word before its caller knows of it, so Stats never lags behind what
//     a caller has seen. Refusals have a count of their own, which Stats and Reset include.
//
// A call that has read its clock before the word was sealed and opened again may take effect in the new one, as of an
// instant before the fold. It refills nothing that another call has used: the word says when the bucket is full, and
// an earlier clock only sees it emptier. Words of one fast are comparable at any time: they say all that there is to
// say, so a word that has changed and changed back is the same state. Other limits, and a later base, have a fast of
// their own, and the old one stays sealed for ever. A call may even have read its clock before the base of a fast: it adds
// to the instant at which the bucket is full, which is never before the base.
//
// A call that was held up after it had read its clock is not refused as of that instant: other calls may have taken units
// that were not there yet, and left some. It reads the clock again, after the word. What does not fit then did not fit
// when it read the word.
//
// The clock is read before any field of the limiter. The instruction that reads it waits for all earlier loads, so reading
// it second would add its latency to that of a cache miss on the limiter. At that point it is not known which clock the
// limiter uses, so all limiters on the real clock share that of the program. To limit cache misses, all that a call needs
// of one key among many is in one cache line, and the rest is shared by the limiters that were made alike (origin).
//
// New opens the word of a limiter that has nothing but a bucket (bornOpen). Once sealed, that word stays sealed, and what
// is opened later is a fast. After that only Allow opens one, when it has taken the lock anyway. The word is closed to limits that it
// cannot express (scheduled), and while anything holds calls back or waits (openLocked). When it has no room left, for the
// count or for the instant, Allow takes the lock, which begins anew.

// fast is the state of a limiter while it is open.
type fast struct {
	schedule
	word atomic.Uint64
	ring ring // of a sliding window (fast_sliding.go); that of a bucket has no words
}

// schedule is a bucket in whole nanoseconds.
type schedule struct {
	base    instant       // from which the word counts
	perUnit time.Duration // in which a unit refills
	depth   time.Duration // how long before the bucket is full a call is admitted
}

// origin is what limiters born open of the same window, within the same hour of their clock, have in common.
type origin struct {
	schedule
	window unique.Handle[meter.Window]
}

const (
	instantBits = 44 // of the word: nearly five hours
	instantMask = 1<<instantBits - 1
	sealed      = 1 << 63
	mostCounted = 1<<(63-instantBits) - 1
)

type verdict uint8

const (
	undecided verdict = iota // the lock is needed
	allowed
	refused
)

// allowBorn admits or refuses a call of one request by the word that the limiter was born with.
func (l *Limiter) allowBorn(now instant) verdict {
	if l.born == (unique.Handle[origin]{}) {
		return undecided
	}
	return l.born.Value().allow(&l.word, now, &l.ticks)
}

// allow admits or refuses a call of one request, which has read the clock.
func (s schedule) allow(state *atomic.Uint64, read instant, c *clock.Clock) verdict {
	for now := read - s.base; ; now = c.Elapsed() - s.base {
		word := state.Load()
		full := instant(word & instantMask)
		if word>>instantBits >= mostCounted {
			return undecided // or sealed
		}
		if full-s.depth > now {
			if now = c.Elapsed() - s.base; full-s.depth > now {
				return refused
			}
		}
		next := max(full, now) + s.perUnit
		if next > instantMask {
			return undecided
		}
		if state.CompareAndSwap(word, word&^instantMask+1<<instantBits|uint64(next)) { //nolint:gosec // it is positive
			return allowed
		}
	}
}

// monotonic reports whether a clock never steps back. Tests replace it.
var monotonic = (*clock.Clock).Real //nolint:gochecknoglobals // see above

// single reports whether c is a call of one request.
func single(c *Cost) bool {
	return uint64(c.Requests) <= 1 && c.Tokens|c.Input|c.Output|c.Points == 0 //nolint:gosec // a negative one is large then
}

// lock takes the lock. Every method takes it by this, or misses what was admitted without it.
func (l *Limiter) lock() {
	l.mu.Lock()
	if l.state == nil {
		l.settleDownLocked()
	}
	if l.open {
		l.foldLocked()
	}
}

// isSimple reports whether calls may be admitted without the lock under these limits.
func (l *Limiter) isSimple(lim Limits) bool {
	return len(lim.Windows) == 1 && lim.Windows[0].Kind() != CalendarWindow && lim.Windows[0].Unit() == Requests &&
		l.governor == nil && monotonic(&l.ticks)
}

// bornOpen opens a limiter with nothing but a bucket, which is full. All else that a limiter has is made when the lock is
// taken first: most keys of many never do.
func (l *Limiter) bornOpen(lim Limits) bool {
	if !l.isSimple(lim) || lim.Concurrency > 0 || lim.Windows[0].Kind() != TokenBucket {
		return false
	}
	window := lim.Windows[0].spec
	s, ok := scheduled(l.ticks.Elapsed().Truncate(time.Hour)-l.guard, l.guard, meter.New(window, time.Time{}, l.guard, 0).Bucket)
	if ok {
		l.born = unique.Make(origin{s, unique.Make(window)})
	}
	return ok
}

// settleDownLocked makes the state of a limiter that was born open.
func (l *Limiter) settleDownLocked() {
	l.beginLocked(Limits{Windows: []Window{{l.born.Value().window.Value()}}})
	l.open = true
}

// beginLocked makes the state of a limiter.
func (l *Limiter) beginLocked(lim Limits) {
	l.state = &state{clock: l.ticks.Anchored(), due: Forever}
	l.fitLocked(lim)
}

// foldLocked takes over what was admitted without the lock, and ends that. None of it is later than now: see asOfLocked.
func (l *Limiter) foldLocked() {
	l.open = false
	defer l.nowLocked()
	switch f := l.fast.Load(); {
	case f == nil:
		l.foldBucketLocked(l.born.Value().base, &l.word)
	case f.ring.words == nil:
		l.foldBucketLocked(f.base, &f.word)
	default:
		l.foldRingLocked(&f.ring)
	}
}

// foldBucketLocked seals the state and takes over what was admitted by it.
func (l *Limiter) foldBucketLocked(base instant, state *atomic.Uint64) {
	word := state.Swap(sealed)
	n := int64(word >> instantBits)
	if n == 0 {
		return
	}
	l.gauges[0].Bucket.Resume(base + instant(word&instantMask))
	l.countLocked(n, &amounts{Requests: n})
}

// openLocked lets calls of one request be admitted without the lock, if nothing else can hold them back. The limits must
// be simple.
func (l *Limiter) openLocked(now instant) {
	if l.closed.cause != nil || l.paused > now ||
		l.queue.head != nil || len(l.fronts)+len(l.heads)+l.joined+len(l.tries) > 0 {
		return
	}
	switch {
	case l.gauges[0].Bucket == nil:
		if l.limit == 0 || l.inFlight < l.limit {
			l.openRingLocked(now)
		}
	case l.inFlight == 0:
		l.openBucketLocked(now)
	}
}

// openBucketLocked opens the word, unless there is no room in it.
func (l *Limiter) openBucketLocked(now instant) {
	full, ok := l.gauges[0].Bucket.FullAt(now)
	if !ok {
		return
	}
	f := l.fast.Load()
	if f == nil || now-f.base > instantMask/2 {
		f = new(fast)
		if f.schedule, l.simple = scheduled(now-l.guard, l.guard, l.gauges[0].Bucket); !l.simple {
			return
		}
		f.word.Store(sealed)
		l.fast.Store(f)
	}
	if full -= f.base; full <= instantMask {
		f.word.Store(uint64(max(0, full)))
		l.open = true
	}
}

// scheduled is a bucket from a base on; false if the word cannot express it. Before the base the bucket may have been full
// for any time: a guard is the longest that matters.
func scheduled(base instant, guard time.Duration, b *meter.Bucket) (s schedule, ok bool) {
	perUnit, depth, ok := b.Schedule()
	const most = instantMask / 4
	return schedule{base, perUnit, depth}, ok && depth <= most && perUnit <= most && guard <= most
}
