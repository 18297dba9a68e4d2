package learn

// refusalsKept is how many refusals are remembered.
const refusalsKept = 64 // calls

const outOfOrder = recent // refusals that may arrive before that of an earlier call

// Refusals remembers the calls that were refused recently, because they have used none of the provider's quota.
type Refusals struct {
	next int
	ring [refusalsKept]refusal
}

type refusal struct {
	seq    int64
	tokens float64
}

// Add notes that a call was refused.
func (r *Refusals) Add(seq int64, tokens float64) {
	r.ring[r.next] = refusal{seq, tokens}
	r.next = (r.next + 1) % len(r.ring)
}

// Between is how many calls after the call a, up to and with b, were refused,
// and their tokens. It looks past the refusals of a few older calls, which may have arrived later.
func (r *Refusals) Between(a, b int64) (calls, tokens float64) {
	older := 0
	for i := range r.ring {
		e := &r.ring[(r.next+len(r.ring)-1-i)%len(r.ring)]
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
