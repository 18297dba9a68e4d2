package learn

// Rest learns how much a provider takes at once after a pause of the demand.
// It grows from pause to pause, until a refusal in such a burst shows where it ends.
type Rest struct {
	burst   float64 // what may go at once
	idle    float64 // seconds that nobody has waited
	filled  bool    // the pause was long enough for all of it
	spent   bool    // the last burst has been sent, and was not refused
	refused bool    // one has been, ever
	busy    float64 // when the last burst began
}

const (
	restLeast  = 2    // seconds without demand that are a pause
	restFirst  = 0.5  // seconds of the rate that the first burst has
	restGrow   = 1.5  // from burst to burst
	restProbe  = 1.05 // the same, once one was refused
	restCut    = 0.8
	burstLeast = 3 // seconds in which a refusal is put down to the burst
)

// Idle says that nobody has waited for another dt seconds, and returns what may
// be saved up meanwhile.
func (r *Rest) Idle(dt float64) float64 {
	r.idle += dt
	if r.idle < restLeast {
		return 0
	}
	return r.burst
}

// Saved says how much has been saved up.
func (r *Rest) Saved(level float64) {
	if r.idle >= restLeast {
		r.filled = level >= 0.95*r.burst
	}
}

// Busy says that somebody waits.
func (r *Rest) Busy(now, rate float64) {
	if r.idle >= restLeast {
		switch {
		case !r.spent || !r.filled:
		case r.refused:
			r.burst *= restProbe
		default:
			r.burst = restGrow*r.burst + restFirst*rate
		}
		r.spent, r.busy = true, now
	}
	r.idle = 0
}

// Refused says that a call was refused.
func (r *Rest) Refused(now, rate float64) {
	if r.spent && r.burst > 0 && now-r.busy < max(burstLeast, 1.5*r.burst/rate) {
		r.burst *= restCut
		r.spent, r.refused = false, true
	}
}
