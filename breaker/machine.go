package breaker

import (
	"math"
	"time"
)

// instant is a time since the breaker was made.
type instant = time.Duration

// machine is the breaker without lock and clock. A call is admitted in a
// phase, and only a call of the present phase has a say when it ends.
type machine struct {
	maxFailures, wantSuccesses, maxProbes int
	minOpen, maxOpen                      time.Duration

	state     State
	phase     uint64 // counts the changes of state
	failures  int    // in a row, while closed
	successes int    // of probes, while half-open
	probes    int    // under way, while half-open
	open      time.Duration
	until     instant // the end of open; while closed, the last failure
}

func newMachine(c Config) machine {
	return machine{
		maxFailures: c.Failures, wantSuccesses: c.Successes, maxProbes: c.Probes,
		minOpen: c.Open, maxOpen: c.MaxOpen,
	}
}

// at returns the state for a call at now. After its time is up, a breaker
// stays open in its records until the next call arrives to probe.
func (m *machine) at(now instant) State {
	if m.state == Open && now >= m.until {
		return HalfOpen
	}
	return m.state
}

// remembers reports whether a new machine would admit other calls. Failures are
// forgotten an hour after the last one, or after the open time has ended.
func (m *machine) remembers(now instant) bool {
	return (m.state != Closed || m.failures > 0) && now-m.until < time.Hour
}

// admit lets a call through, into the phase that it leaves behind, or says how
// long to wait.
func (m *machine) admit(now instant) (wait time.Duration) {
	if wait = m.wait(now); wait > 0 {
		return wait
	}
	if m.state == Open {
		m.enter(HalfOpen)
	}
	if m.state == HalfOpen {
		m.probes++
	}
	return 0
}

// wait is how long a call at now would have to wait: 0 if it may run.
func (m *machine) wait(now instant) time.Duration {
	switch {
	case m.at(now) == Open:
		return m.until - now
	case m.probing():
		return max(1, m.minOpen/10)
	default:
		return 0
	}
}

// probing reports whether probes that are under way hold up other calls.
func (m *machine) probing() bool { return m.state == HalfOpen && m.probes >= m.maxProbes }

// answers counts a probe that was admitted in phase as a success before it ends; false if it is not one.
func (m *machine) answers(now instant, phase uint64) bool {
	if phase != m.phase || m.state != HalfOpen {
		return false
	}
	m.endProbe(now, Success)
	return true
}

// end counts a call that was admitted in phase; false if that phase is over. counted says that answers has counted it.
func (m *machine) end(now instant, phase uint64, o Outcome, counted bool) bool {
	switch {
	case phase != m.phase, counted && o != Failure:
		return false
	case m.state == HalfOpen:
		m.endProbe(now, o)
		return true
	}
	switch o {
	case Success:
		m.failures = 0
	case Failure:
		m.until = now
		if m.failures++; m.failures >= m.maxFailures {
			m.trip(now, m.minOpen)
		}
	case Undecided:
	}
	return true
}

func (m *machine) endProbe(now instant, o Outcome) {
	m.probes--
	switch o {
	case Success:
		if m.successes++; m.successes >= m.wantSuccesses {
			m.enter(Closed)
		}
	case Failure:
		longer := m.maxOpen
		if m.open < m.maxOpen/2 {
			longer = 2 * m.open
		}
		m.trip(now, longer)
	case Undecided:
	}
}

// reset closes the breaker; calls under way have no say any more.
func (m *machine) reset() { m.enter(Closed) }

func (m *machine) trip(now instant, d time.Duration) {
	m.enter(Open)
	m.open, m.until = d, now+d
	if m.until < now { // it overflowed: for ever
		m.until = math.MaxInt64
	}
}

func (m *machine) enter(s State) {
	m.state = s
	m.phase++
	m.failures, m.successes, m.probes = 0, 0, 0
}
