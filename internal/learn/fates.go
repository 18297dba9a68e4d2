package learn

import "math"

// Fates remembers what became of the newest calls.
type Fates struct {
	ring [fatesKept]fate
}

const fatesKept = 256 // calls that are kept, a power of two

type fate struct {
	seq      int64
	left     float64 // +Inf: it was refused
	heldBack bool    // the pace of calls held it back last
}

// Sent notes a call.
func (f *Fates) Sent(c Call) {
	f.ring[c.Seq&(fatesKept-1)] = fate{seq: c.Seq, left: c.At}
}

// HeldBack notes that the pace of calls was the last to hold the call back.
func (f *Fates) HeldBack(seq int64) {
	if x := &f.ring[seq&(fatesKept-1)]; x.seq == seq {
		x.heldBack = true
	}
}

// WasHeldBack reports whether that was noted and is not forgotten.
func (f *Fates) WasHeldBack(seq int64) bool {
	x := &f.ring[seq&(fatesKept-1)]
	return x.seq == seq && x.heldBack
}

// Refused notes that a call was refused.
func (f *Fates) Refused(seq int64) {
	if x := &f.ring[seq&(fatesKept-1)]; x.seq == seq {
		x.left = math.Inf(1)
	}
}

// Passed reports whether a call after the call a and before b left by the moment by and was not
// refused. It is not known if some of them are forgotten.
func (f *Fates) Passed(a, b int64, by float64) (passed, known bool) {
	for seq := b - 1; seq > a; seq-- {
		x := &f.ring[seq&(fatesKept-1)]
		if x.seq != seq {
			return false, false
		}
		if x.left <= by {
			return true, true
		}
	}
	return false, true
}
