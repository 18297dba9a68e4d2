package throttle

// try admits j if all its limiters have room and it is its turn in each, and reports
// whether j has been served. It appends the calls to try next.
func (j *joint) try(tries *[]*joint) (served bool) {
	j.lock()
	var first []*joint
	returned := false
	defer func() { // also if a governor ends the goroutine
		if !returned && !j.ended {
			j.noteRoomLocked()
		}
		*tries = release(j.order, append(*tries, first...))
	}()
	if !j.ended && j.at >= 0 {
		if h := j.forerunnerLocked(); h != nil {
			first = []*joint{h, j}
			returned = true
			return false
		}
	}
	if j.untried.Swap(false) {
		for _, l := range j.order {
			l.untried.Add(-1)
		}
	}
	switch err := j.refusalLocked(); {
	case j.ended, j.at < 0 && err == nil:
		j.pumpLocked()
	case err != nil:
		j.endLocked(err)
		j.pumpLocked()
	default:
		j.tryLocked()
	}
	returned = true
	return j.ended
}

// forerunnerLocked is the call of another line that is to be tried before j: it
// needs one of the same limiters, and was the first of its line before j was.
func (j *joint) forerunnerLocked() (first *joint) {
	own := int32(0)
	if j.untried.Load() {
		own = 1
	}
	for _, l := range j.order {
		l.tryDueLocked(l.nowLocked())
		if l.untried.Load() <= own {
			continue
		}
		for _, h := range l.heads {
			if h != j && h.untried.Load() && h.came < j.came && (first == nil || h.came < first.came) {
				first = h
			}
		}
	}
	return first
}

// tryLaterLocked has j tried when the lock is given up, before any limiter that it
// needs admits another call.
func (l *Limiter) tryLaterLocked(j *joint) {
	if j.untried.Swap(true) {
		return
	}
	l.tries = append(l.tries, j)
	for _, o := range j.order {
		o.untried.Add(1)
	}
}

func (j *joint) tryLocked() {
	defer j.pumpLocked()
	var passed []*joint
	for {
		if j.obstructedLocked(&passed) {
			return
		}
		if j.at == len(j.parts)-1 {
			break
		}
		j.at++
		j.parts[j.at].limiter.addFrontLocked(&j.parts[j.at])
	}
	for _, a := range passed {
		a.overtaken.Store(true)
	}
	j.admitLocked()
	j.endLocked(nil)
}

// obstructedLocked looks for the first limiter that j has reached and that does
// not admit it, and notes it. Otherwise passed are the calls that it overtakes.
func (j *joint) obstructedLocked(passed *[]*joint) bool {
	*passed = (*passed)[:0]
	for i := range j.parts[:j.at+1] {
		p := &j.parts[i]
		l := p.limiter
		now := l.nowLocked()
		c, ahead := l.candidateLocked(now, j)
		for _, a := range ahead {
			if a.joint != nil {
				*passed = append(*passed, a.joint)
			}
		}
		mine := c.part == p
		h, _ := l.limitsHoldLocked(now, max(l.creditLocked(now), p.since), &j.load.of)
		if mine && l.governor != nil {
			h = l.governedLocked(now, j.load.cost, h)
		}
		if mine && h.wait == 0 {
			continue
		}
		j.blocked, j.turn = l, !mine
		j.never = h.wait == Forever
		if !j.never {
			j.room = l.clock.At(now + h.wait)
		}
		j.noteRoomLocked()
		if mine {
			overtaken := j.overtaken.Swap(false)
			j.claims = overtaken || j.claims
			if j.never {
				j.insists.lacks(l.clock.At(now), overtaken)
			}
		}
		return true
	}
	return false
}
