package guard

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// prelude counts the calls that a lazy guard has admitted before its controller starts: how many by
// some moments, which are further apart the longer ago they are. The limiter's lock
// guards it, except for due.
type prelude struct {
	due    atomic.Int64 // when the next moment is worth noting, by the guard's clock
	levels *[preludeLevels]preludeLevel
	since  throttle.Sent // the last call that it does not count
}

// preludeLevel is a ring of moments. Programs that call many hosts have many guards with few calls, so it takes no more
// memory for one moment than that needs.
type preludeLevel struct {
	next    int // where the next moment goes: behind the others, or in the place of the oldest
	moments []throttle.Sent
}

const (
	preludeLevels  = 5
	preludeMoments = 12
	preludeStep    = 10 * time.Millisecond // between the moments of the finest level
	preludeCoarser = 6                     // times as far apart as those of the level below
)

// note adds the call s, which is not older than those before it.
func (p *prelude) note(s throttle.Sent) {
	if p.levels == nil {
		p.levels = new([preludeLevels]preludeLevel)
	}
	step := preludeStep
	for i := range p.levels {
		l := &p.levels[i]
		n := len(l.moments)
		if n > 0 && s.At.Sub(l.moments[(l.next+n-1)%n].At) < step {
			return // and so for every coarser level
		}
		switch n {
		case preludeMoments:
			l.moments[l.next] = s
			l.next = (l.next + 1) % n
		case 1:
			l.moments = append(make([]throttle.Sent, 0, preludeMoments), l.moments[0], s)
		default:
			l.moments = append(l.moments, s)
		}
		step *= preludeCoarser
	}
}

// until returns the moments up to last, the oldest first.
func (p *prelude) until(last throttle.Sent) (moments []throttle.Sent) {
	if p.levels != nil {
		for i := range p.levels {
			moments = append(moments, p.levels[i].moments...)
		}
	}
	moments = append(moments, last)
	slices.SortStableFunc(moments, func(a, b throttle.Sent) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(moments, func(a, b throttle.Sent) bool { return a.Seq == b.Seq })
}

// noteLoose notes a call that was not admitted and began at that moment.
func (g *Guard) noteLoose(began time.Duration) {
	p := &g.governor.before
	if int64(began) < p.due.Load() {
		return
	}
	p.due.Store(int64(began + preludeStep))
	g.look(func(now time.Time) {
		if g.governor.state == nil {
			p.note(g.governor.sent(now))
		}
	})
}

// forget makes the next call the first one. Calls that are sent together with it may be counted before its moment is noted.
func (g *governor) forget() {
	g.before.levels, g.before.since = nil, g.sent(time.Time{})
	g.before.due.Store(0)
}

// sent is everything admitted so far: the last call, with a number that also counts
// calls that were not admitted.
func (g *governor) sent(now time.Time) throttle.Sent {
	s := g.engine.Total()
	s.Seq, s.At = s.Seq+g.loose.started.Load(), now
	return s
}

// recall returns when the first call left that a new state may learn of. tell installs the state and replays to it what came
// before.
func (g *governor) recall(now time.Time) (began time.Time, tell func(adaptive.State)) {
	admitted, all, since := g.engine.Total(), g.sent(now), g.before.since
	if g.before.levels == nil {
		return now, func(s adaptive.State) { g.start(s, admitted) }
	}
	moments := g.before.until(all)
	first := throttle.Sent{Seq: since.Seq + 1, At: moments[0].At, Total: since.Total}
	loose := all.Seq - admitted.Seq
	return first.At, func(s adaptive.State) {
		g.start(s, throttle.Sent{Seq: since.Seq - loose, Total: since.Total})
		hears, ok := s.(interface{ Before(s throttle.Sent) })
		if moments[0].Seq != first.Seq { // other calls were counted before the first moment was noted
			moments = slices.Insert(moments, 0, first)
		}
		for _, m := range moments {
			if m.Seq, m.Total = m.Seq-since.Seq, less(m.Total, since.Total); ok {
				hears.Before(m)
			}
		}
	}
}

// less is a without b.
func less(a, b throttle.Cost) throttle.Cost {
	return throttle.Cost{
		Requests: a.Requests - b.Requests, Tokens: a.Tokens - b.Tokens, Input: a.Input - b.Input, Output: a.Output - b.Output, Points: a.Points - b.Points,
	}
}
