package learn

import "math"

// Turn distinguishes a window from a bucket, and knows when the window turns. The moment of a window's reset is constant; that
// of a bucket moves along with what is sent.
type Turn struct {
	At float64

	span     float64
	votes    int
	observed float64 // when the observation was made that the next is compared with
	reset    float64 // the moment it gave
}

const (
	mostVotes  = 2 * enough // votes, at most
	turnStands = sameLevel  // of the time between two answers: a reset that moves by no more stands still
	turnFades  = recent     // times the time or the observations in which a span that was too long fades
	leastTurn  = tiny       // seconds: no window is shorter
)

// Windowed reports whether it is a window.
func (t *Turn) Windowed() bool { return t.votes >= enough }

// Observe takes in that at a moment the reset was so many seconds away.
func (t *Turn) Observe(at, reset float64) {
	t.At = at + reset
	dt := at - t.observed
	shift := t.At - t.reset
	if t.unclear(dt, shift) {
		return
	}
	switch {
	case dt < shortest:
	case t.Windowed() && at >= t.reset && shift > 2*dt: // it has turned, and once, for twice would have taken longer
		t.span = shift
	case t.Windowed() && shift < -0.5*t.span: // it was about another, longer quota
		t.span = 0
	default:
		t.span -= min(dt, t.span) / turnFades
	}
	t.span = max(reset, t.span)
	switch {
	case t.observed == 0 || dt > t.span: // too long ago to compare with
	case dt < shortest:
		return
	case reset > 0 && math.Abs(shift) <= turnStands*dt:
		t.votes = min(mostVotes, t.votes+1)
	case reset == 0 || !alike(shift, t.span): // nor has the window turned
		t.votes = max(-mostVotes, t.votes-1)
	}
	t.observed, t.reset = at, t.At
}

// unclear reports whether the reset has moved by so little in the time dt that it may still be that of a window: many services
// round it to a whole second, and not all calls take equally long to arrive. It is compared again later, when that of a bucket has
// moved further.
func (t *Turn) unclear(dt, shift float64) bool {
	moved := math.Abs(shift) - turnStands*dt
	return dt >= shortest && dt <= t.span && moved > 0 && moved <= min(1, turnStands*t.span)
}

// begins is when the window of now began.
func (t *Turn) begins(now float64) float64 {
	span := max(t.span, leastTurn)
	return t.At + span*math.Floor((now-t.At)/span)
}

// Pass goes on to the window of now, and reports whether it is a new one.
func (t *Turn) Pass(now float64) bool {
	if now < t.At {
		return false
	}
	span := max(t.span, leastTurn)
	t.At += span * (1 + math.Floor((now-t.At)/span))
	return true
}
