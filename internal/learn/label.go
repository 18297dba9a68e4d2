package learn

import "math"

// Label weighs whether refusals that name a rate come from a cap on the calls
// in flight all the same. A name is believed at first. A cap shows in that
// refusals keep coming at one level in flight, and few calls are taken at it or above.
type Label struct {
	level  float64
	same   int    // epochs refused at it
	levels Levels // taken since the first of them
}

const (
	labelNear   = 0.05 // of the level, 1 at least
	labelEpochs = 6
)

// Taken notes that a call was taken that left with so many others in flight.
func (l *Label) Taken(others int) { l.levels.Add(others) }

// Refused notes the first refusal of an epoch, at a level of calls in flight,
// and reports whether the name that it has is wrong.
func (l *Label) Refused(level int) (wrong bool) {
	n := float64(level)
	if l.same == 0 || math.Abs(n-l.level) > max(1, labelNear*l.level) {
		*l = Label{level: n}
	}
	l.same++
	taken, at, _ := l.levels.Count(int(l.level))
	return l.same >= labelEpochs && l.level >= 2 && taken >= evidence && at <= atShare*taken
}
