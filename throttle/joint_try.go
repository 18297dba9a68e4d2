package throttle

// try admits j if all its limiters have room and it is its turn in each. It
// returns the calls to try next.
func (j *joint) try() (tries []*joint) {
	j.lock()
	defer func() { tries = release(j.order) }()
	if !j.ended && j.at >= 0 {
		j.tryLocked()
	}
	return nil
}

func (j *joint) tryLocked() {
	defer j.pumpLocked()
	if err := j.refusalLocked(); err != nil {
		j.endLocked(err)
		return
	}
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
		if mine {
			j.claims = j.overtaken.Swap(false) || j.claims
		}
		return true
	}
	return false
}
