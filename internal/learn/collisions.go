package learn

// Collisions counts the rejections of calls that have collided with another one, which took the last unit of a bucket that holds
// few. Where several processes send at times of their own, calls collide at any pace, so that this measures no rate.
type Collisions struct {
	recent float64 // part of the last one that no calls have made up for since
}

const (
	collideShare = trustBroken // of the calls, at most, are taken to have collided
	collideTimes = draftPace   // times the pace: if more than that comes in, calls at that pace do not empty the bucket
	collideFull  = enough      // calls: in a bucket that holds more, a call is hardly ever short of one unit
)

// Sent notes a call.
func (c *Collisions) Sent() { c.recent = max(0, c.recent-collideShare) }

// Count notes that a call seems to have collided, and reports whether it is taken to have: not too many are.
func (c *Collisions) Count() bool {
	if c.recent > rounding {
		return false
	}
	c.recent = 1
	return true
}

// collided reports whether the refused call c has collided: the headers show that no call is left in a small bucket, although much more
// comes in, apart from what others use, than the pace takes.
func (m *Machine) collided(c Call, r *Refusal) bool {
	q := &m.quota.Calls
	empty := r.Calls.Known && r.Calls.Remaining < 1 && q.full <= collideFull && !q.turn.Windowed()
	lacksTokens := r.Names == TokenLimit || r.Tokens.Known && r.Tokens.Remaining < c.Tokens
	slow := m.Calls.On && collideTimes*m.Calls.Pace() < q.net() && !m.Flight.Claimed
	return empty && slow && !lacksTokens && !m.off.Has(StrayRule) && m.collisions.Count()
}
