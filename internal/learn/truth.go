package learn

// Truth learns the factor by which a Retry-After has to be multiplied. One that is too short shows by itself, because the
// provider is still closed. Only two closures in a row show that, because an outage of a few seconds, too, is longer than it
// asks for. One that is too long shows only if a probe is sent early now and then.
type Truth struct {
	factor  float64 // 0: 1
	obeyed  int     // closures since the last test
	every   int     // closures from test to test
	Testing bool    // the door is being tried early
	tried   float64 // at this part of what was asked

	shutAt, asked float64 // of this closure; asked is 0 after it
	again         int     // refusals after its wait
	before        float64 // times what was asked that the closure before took, if it was refused after its wait; else 0
}

const (
	longestLie  = 8    // times what is asked: the factor, at most
	shortestLie = 0.01 // times what is asked: the factor, at least; beyond: a Retry-After that is five times too long
)

const (
	safety     = margin // what a wait that is known to be too short is divided by: its factor is an average
	rarestTest = recent // closures from one test to the next, at most
	testAgain  = enough // closures to the next test after a wait that was too short
)

func (t *Truth) mul() float64 {
	if t.factor == 0 {
		return 1
	}
	return t.factor
}

// wait is how long to wait if so much is asked for: no longer than that, or than it is waited without a probe.
func (t *Truth) wait(asked float64) float64 { return min(asked*t.mul(), longest(asked)) }

// longest is the longest wait that a correction makes of one that is asked for.
func longest(asked float64) float64 { return max(asked, rarestProbe) }

func (t *Truth) restore(factor float64) {
	if factor > 0 {
		t.factor = min(max(shortestLie, factor), longestLie)
	}
}

// Shut returns how long to wait after the first refusal of a closure. rate is what could be sent meanwhile, and least how long
// an answer takes.
func (t *Truth) Shut(now, asked, rate, least float64) float64 {
	t.shutAt, t.asked, t.again = now, asked, 0
	wait := asked * t.mul()
	if t.mul() > 1 {
		wait = min(wait/safety, longest(asked))
	}
	seldom, rounded := 2, asked == 1 // the shortest wait that a header can ask for: it may be any fraction, rounded up
	if rounded {
		seldom = 1
	}
	t.every = max(t.every, seldom)
	worth, every := wait*rate >= several, t.every
	if !worth && t.mul() > 1 { // that a wait is too short expires at any rate
		worth, every = true, rarestTest
	}
	t.obeyed++
	t.Testing = worth && wait > least && t.obeyed >= every
	if t.Testing {
		t.obeyed = 0
		wait /= 2
		if rounded { // it is as long as it takes until several calls have come in
			wait = min(wait, several/rate)
		}
	}
	wait = max(least, wait)
	t.tried = wait / asked
	return wait
}

// Echo returns how long to wait after a further refusal of a call that left before the first one: no time while an earlier
// opening is tested.
func (t *Truth) Echo(asked float64) float64 {
	if t.Testing {
		return 0
	}
	return t.wait(asked)
}

// Again returns how long to wait after a refusal of a call that left after the wait.
func (t *Truth) Again(asked float64) float64 {
	switch {
	case t.Testing:
		t.Testing = false
		t.every = min(rarestTest, 2*t.every)
		return t.wait(asked)
	case t.mul() < 1:
		t.factor, t.obeyed, t.every = min(1, 2*t.mul()), 0, min(rarestTest, 2*t.every)
	default:
		t.again++
	}
	return max(asked, t.wait(asked))
}

// Opened says that a call which left at sent was not refused.
func (t *Truth) Opened(sent float64) {
	took := 0.0
	switch {
	case t.Testing:
		t.Testing, t.every, t.obeyed = false, 1, 0
		t.factor = max(shortestLie, min(t.tried, t.mul()/2))
	case t.asked == 0: // no wait of this closure has been obeyed
		t.again = 0
		return
	case t.again > 0:
		took = (sent - t.shutAt) / max(t.asked, shortest) // a shorter one that is too short is no evidence about a whole second
		if both := min(longestLie, 2*t.mul(), took, t.before); both > t.mul() {
			t.factor = t.mul() + 0.5*(both-t.mul())
		}
		t.again, t.obeyed, t.every = 0, 0, testAgain
	}
	t.asked, t.before = 0, took
}
