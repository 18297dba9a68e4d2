package learn

// unchargedKept is how many refusals are remembered.
const unchargedKept = 64 // calls

const outOfOrder = recent // refusals that may arrive before that of an earlier call

// Uncharged remembers the calls that were refused recently, because they have used none of the provider's quota.
type Uncharged struct {
	next int
	ring [unchargedKept]unchargedCall
}

type unchargedCall struct {
	seq    int64
	tokens float64
}

// Add notes that a call was refused.
func (u *Uncharged) Add(seq int64, tokens float64) {
	u.ring[u.next] = unchargedCall{seq, tokens}
	u.next = (u.next + 1) % len(u.ring)
}

// Between is how many calls after the call a, up to and with b, were refused,
// and their tokens. It looks past the refusals of a few older calls, which may have arrived later.
func (u *Uncharged) Between(a, b int64) (calls, tokens float64) {
	older := 0
	for i := range u.ring {
		e := &u.ring[(u.next+len(u.ring)-1-i)%len(u.ring)]
		switch {
		case e.seq == 0:
			return calls, tokens
		case e.seq <= a:
			if older++; older > outOfOrder {
				return calls, tokens
			}
		case e.seq <= b:
			calls++
			tokens += e.tokens
		}
	}
	return calls, tokens
}
