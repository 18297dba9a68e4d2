package learn

// Noise looks for refusals that do not become fewer when the pace falls. A limit
// explains two or three cuts in a row: the pace is below it then, and the next
// refusal comes only above the rate that was measured. Noise goes on at any pace,
// and is never away for long. Where too many of the calls are refused, it is a limit that has fallen.
type Noise struct {
	Share float64 // of all calls that are refused for nothing; 0: none is known

	at          float64 // when the newest call left
	seen        float64 // likewise at the last refusal within the share
	before      float64 // the pace before the first unexplained cut
	sent        float64
	refused     float64 // of these, all in an epoch
	unexplained float64
	last        float64 // of sent, at the last unexplained one
	early       float64 // sum of sent at those between the first and that
	between     float64 // how many these are
	leak        float64 // refusals put down to noise of late
	exceeded    float64 // times there were too many for that
	need        float64
}

// Opinion is what to do about a refusal.
type Opinion uint8

// The opinions.
const (
	Believe Opinion = iota // it says something about the rate
	Ignore                 // it is noise
	Restore                // it and those before it were
)

const (
	trend     = 0.33 // unexplained refusals whose mean is below this part of the calls from the first to the last become rarer; headrace demo
	leakLeast = 0.01 // refusals forgotten with each call, besides twice the share; beyond: 2 and 5 % random rejections
)

const (
	explained = 1 - 0.5*climbBy // of the rate believed: closer to it than to the pace just after a mark, so the provider's bucket was empty
	paceFell  = backOff         // of the pace before the first unexplained cut: below it, a limit would no longer refuse
	needMost  = recent          // unexplained refusals that a share needs as evidence, at most
)

// Know says that so large a share of calls is refused for nothing.
func (n *Noise) Know(share float64) { n.Share, n.seen = share, n.at }

// Sent notes a call that left at a moment. It reports whether the share that was known ends, because its last refusal was too long ago.
func (n *Noise) Sent(at float64) (ends bool) {
	if n.sent++; n.sent > n.last+memory {
		n.unexplained = 0
	}
	n.need = max(0, n.need-1.0/memory)
	n.leak = max(0, n.leak-2*n.Share-leakLeast)
	n.exceeded = max(0, n.exceeded-1.0/memory)
	n.Share -= n.Share / memory
	n.at = at
	if ends = n.Share > 0 && at >= n.seen+remembered; ends {
		n.Share = 0
	}
	return ends
}

// Hit notes that a call was refused.
func (n *Noise) Hit() { n.refused++ }

// Refused judges the first refusal of an epoch. measured is the rate at that moment, believed that of the pacer, and pace the
// rate of the calls sent.
func (n *Noise) Refused(measured, believed, pace float64) Opinion {
	if n.Share > 0 && measured >= explained*believed {
		return n.absorb(0, 2) // the limit or noise: twice as soon as noise alone, there are too many
	}
	if measured >= explained*believed {
		if n.unexplained--; n.unexplained < 0 || believed >= n.before {
			n.unexplained = 0
		}
		return Believe
	}
	if n.Share > 0 {
		return n.Absorb()
	}
	if n.unexplained == 0 {
		n.before, n.sent, n.last, n.early, n.between, n.refused = believed, 0, 0, 0, 0, 1
	}
	n.unexplained++
	if n.last > 0 {
		n.between++
		n.early += n.last
	}
	n.last = n.sent
	if n.unexplained < max(n.need, convinced) || !n.looksRandom(pace) {
		return Believe
	}
	n.Know(min(noisy, n.refused/n.sent))
	n.leak = 0
	n.unexplained = 0
	return Restore
}

// looksRandom reports whether refusals have come as those that no limit explains, down to a pace.
func (n *Noise) looksRandom(pace float64) bool {
	return pace < paceFell*n.before && n.refused-1 <= noisy*n.sent && !n.rarer()
}

// rarer reports whether unexplained refusals became rarer as the pace fell, as those of a limit do: most of them are among the first
// calls (as in Laplace's trend test, with a fixed bound).
func (n *Noise) rarer() bool { return n.early < trend*n.between*n.last }

// Forget drops what could not be explained, because it is now.
func (n *Noise) Forget() { n.unexplained = 0 }

// Before is the rate before random rejections began to lower it.
func (n *Noise) Before() float64 { return n.before }

// Absorb counts one more refusal as one of the known share, if it is within that. If there are
// too many, again and again, it was no noise.
func (n *Noise) Absorb() Opinion { return n.absorb(1, 1) }

func (n *Noise) absorb(share, weight float64) Opinion {
	if n.Share == 0 {
		return Believe
	}
	n.Know(min(noisy, n.Share+share/memory))
	if n.leak += weight; n.leak < convinced {
		return Ignore
	}
	n.leak, n.unexplained = 0, 0
	if n.exceeded++; n.exceeded >= convinced {
		n.Share, n.exceeded = 0, 0
		n.need = min(needMost, max(n.need, convinced)*2)
	}
	return Believe
}
