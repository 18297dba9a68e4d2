package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// slowly is a machine that calls a provider with endless demand.
type slowly struct {
	*machineRun
	lasts    float64 // seconds until the answer
	cap      int     // calls in flight that the provider admits; 0: any number
	answered int
	rejected int
	now      float64
	out      []event // in the order of time
}

// event is the end of a call.
type event struct {
	at       float64
	call     Call
	rejected bool
}

const rejection = 0.3 // seconds until a 429 is received

func (s *slowly) send() {
	c := s.last
	c.Seq, c.At, c.Others = c.Seq+1, s.now, len(s.out)
	s.last = c
	s.Sent(c)
	e := event{at: s.now + s.lasts, call: c}
	if s.cap > 0 && len(s.out) >= s.cap {
		e.at, e.rejected = s.now+rejection, true
	}
	i := len(s.out)
	for ; i > 0 && s.out[i-1].at > e.at; i-- {
	}
	s.out = append(s.out[:i], append([]event{e}, s.out[i:]...)...)
}

func (s *slowly) end() {
	e := s.out[0]
	s.out = s.out[1:]
	s.now = e.at
	if e.rejected {
		s.rejected++
		s.Refused(s.now, e.call, Refusal{Names: FlightLimit})
		return
	}
	s.answered++
	s.Answered(s.now, e.call, Answer{InFlight: len(s.out)})
}

// press goes on until the moment until.
func (s *slowly) press(until float64) {
	for {
		wait := s.Wait(s.now, 0, len(s.out))
		next := s.now + wait
		switch {
		case wait == 0:
			s.send()
		case len(s.out) > 0 && s.out[0].at <= min(next, until):
			s.end()
		case next > until:
			s.now = until
			return
		default:
			s.now = next
		}
	}
}

func startSlowly(lasts float64, most int) *slowly {
	return &slowly{machineRun: runMachine(Config{Initial: 4, Max: 200}), lasts: lasts, cap: most}
}

// Calls of 14 seconds: answers alone allow eight of them in flight after 15 seconds.
func TestASlowStartDoesNotWaitForSlowAnswers(t *testing.T) {
	for _, c := range []struct{ until, least, most float64 }{
		{0.9, 4, 4},
		{2.1, 6, 12},
		{4.1, 16, 40},
		{10, 200, 200},
	} {
		s := startSlowly(14, 0)
		s.press(c.until)
		assert.GreaterOrEqual(t, float64(len(s.out)), c.least, "after %v s", c.until)
		assert.LessOrEqual(t, float64(len(s.out)), c.most, "after %v s", c.until)
	}
}

// A call that is answered before its silence means anything counts once.
func TestFastAnswersAreNoSilence(t *testing.T) {
	s := startSlowly(0.9, 0)
	s.press(3)
	assert.Equal(t, 4+s.answered, s.InFlight())
	assert.Equal(t, 4+4+8+16, s.InFlight(), "three round trips")
}

// The silence of the call has counted already.
func TestTheAnswerOfASilentCallDoesNotCount(t *testing.T) {
	s := startSlowly(60, 0)
	s.press(3)
	s.Wait(s.now, 0, len(s.out))
	before := s.Flight.bound
	s.Answered(s.now, s.out[0].call, Answer{InFlight: len(s.out) - 1})
	assert.InDelta(t, before, s.Flight.bound, 0)
	s.Answered(s.now, Call{Seq: s.last.Seq, At: s.now - 0.5}, Answer{InFlight: len(s.out) - 2})
	assert.InDelta(t, before+1, s.Flight.bound, 0, "a fast one does")
}

// Until the first rejection arrives, too much is sent: a quarter of the cap, at most.
func TestASlowStartBySilenceHardlyExceedsACap(t *testing.T) {
	for _, most := range []int{9, 20, 81} {
		s := startSlowly(60, most)
		s.press(30)
		assert.Positive(t, s.rejected, "it comes to a cap of %d", most)
		assert.LessOrEqual(t, s.rejected, 1+most/4, "a cap of %d", most)
	}
}

func TestASlowStartBySilenceNeedsDemand(t *testing.T) {
	s := startSlowly(60, 0)
	s.press(0.5)
	for s.now = 1; s.now < 20; s.now++ {
		s.Slack(s.now)
	}
	assert.Equal(t, 4, s.InFlight())
}

func TestASlowStartBySilenceHasTheGrowthStoppedToo(t *testing.T) {
	s := startSlowly(60, 0)
	s.slowBy = 100
	s.press(50)
	assert.Len(t, s.out, 4)
}

// The silence of an earlier slow start does not count in a new one.
func TestRestartForgetsTheSilence(t *testing.T) {
	s := startSlowly(60, 0)
	s.press(5)
	f := s.Flight
	f.Restart(0)
	before := f.bound
	f.Tick(s.now+10, true)
	assert.InDelta(t, before, f.bound, 0)
}

func TestSilenceAllocatesNothing(t *testing.T) {
	s := startSlowly(60, 0)
	s.press(3)
	assert.Zero(t, testing.AllocsPerRun(100, func() { s.Wait(s.now, 0, len(s.out)) }))
	assert.Equal(t, ByFlight, s.Bound())
}

func TestSilenceIsAsLongAsRejectionsTake(t *testing.T) {
	m := New(Config{Initial: 4, Max: 100})
	assert.InDelta(t, firstTimeout, m.silent(9, 0).timeout, 0)
	m.Door.rtt = 2
	assert.InDelta(t, 2*heardBy, m.silent(9, 0).timeout, 0)
	assert.InDelta(t, 3, silence{calls: 6, timeout: 2}.answers(), 0)
	assert.InDelta(t, tiny, silence{calls: 6, timeout: 2}.wait(1e-9), 0, "a wait moves forward")
	assert.InDelta(t, 1, silence{calls: 6, timeout: 2}.wait(3), 0)
	assert.InDelta(t, 2, silence{calls: 6, timeout: 2}.wait(9), 0, "more may be silent by then")
	assert.False(t, silence{}.counted(9), "none has been held back")
}
