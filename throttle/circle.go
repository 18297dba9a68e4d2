package throttle

import (
	"cmp"
	"slices"
	"time"
)

// Calls of different sets of limiters can let each other go first in a circle: each try
// changes what another one waits for, and none is served. It takes several limiters and
// lines, and is rare.

const (
	mostVain = 200                   // tries in a row of which none serves a call, besides 4 for each call that is to be tried: a circle
	circling = 10 * time.Millisecond // until calls are tried again of which none has room
)

// anyRoom admits the oldest call for which all its limiters have room, even if it is
// not its turn, and reports whether there was one. It appends the calls to try next.
func anyRoom(tries *[]*joint) bool {
	oldest := slices.Clone(*tries)
	slices.SortFunc(oldest, func(a, b *joint) int { return cmp.Compare(a.id, b.id) })
	return slices.ContainsFunc(slices.Compact(oldest), func(j *joint) bool { return j.goFirst(tries) })
}

// goFirst admits j if there is room for it.
func (j *joint) goFirst(tries *[]*joint) bool {
	j.lock()
	defer func() { *tries = release(j.order, *tries) }() // also if a governor ends the goroutine
	if j.ended || j.at < 0 || j.refusalLocked() != nil {
		return false
	}
	for _, l := range j.order {
		now := l.nowLocked()
		if h, _ := l.holdLocked(now, now, &j.load); h.wait > 0 {
			return false
		}
	}
	for j.at < len(j.parts)-1 {
		j.at++
		j.parts[j.at].limiter.addFrontLocked(&j.parts[j.at])
	}
	for _, l := range j.order {
		l.overtakeLocked()
	}
	j.admitLocked()
	j.endLocked(nil)
	j.pumpLocked()
	return true
}
