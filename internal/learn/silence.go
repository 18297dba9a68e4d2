package learn

import "math"

// silence is calls in flight for which neither an answer nor a rejection has arrived. A rejection takes a fraction of a second,
// and an answer may take many: a call that has been out for longer than a rejection takes was admitted. In a slow start each
// such call counts as one answer each time that a rejection would have taken. By answers alone, calls of ten seconds take a
// minute to become many.
type silence struct {
	calls   float64
	timeout float64 // seconds that their rejections would have taken; 0: no call has been held back yet
}

const firstTimeout = 2 * shortest // seconds that a rejection would have taken, at least: before the first one it is a guess

// silent is the silence of inFlight calls.
func (m *Machine) silent(now float64, inFlight int) silence {
	timeout := max(firstTimeout, m.Door.RefusalTimeout())
	return silence{calls: m.claim.crowd.Left(now-timeout, inFlight), timeout: timeout}
}

// answers is how many answers per second the calls count as.
func (s silence) answers() float64 {
	if s.timeout == 0 {
		return 0
	}
	return s.calls / s.timeout
}

// counted reports whether a call that was out for so long has counted already.
func (s silence) counted(out float64) bool { return s.timeout > 0 && out > s.timeout }

// wait is how long until they have counted as so many answers, or until more calls are silent.
func (s silence) wait(answers float64) float64 {
	if s.timeout == 0 {
		return math.Inf(1)
	}
	return max(tiny, min(s.timeout, answers/s.answers()))
}
