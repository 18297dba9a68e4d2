package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// playQuota sends as much as the machine allows to a provider that admits 60 calls in each of some minutes of the clock and
// silently rejects all others. Its headers are about a bucket only. The result is how many it rejects from a moment on.
func (r *machineRun) playQuota(s shown, minutes int, from, to float64) (rejected int) {
	r.shown = &s
	turn, admitted := 0, 0
	for now := 0.0; now < to; now += 0.02 {
		r.shown.refill(0.02)
		if n := int(now / minute); n > turn {
			turn, admitted = n, 0
		}
		for r.Wait(now, 100, 0) == 0 {
			c := r.send(now)
			c.Others = 0
			if turn < minutes && admitted < 60 {
				admitted++
				r.shown.take()
				r.Answered(now, c, Answer{Used: 100, Calls: r.shown.tell()})
				continue
			}
			if now >= from {
				rejected++
			}
			r.Refused(now, c, Refusal{Calls: r.shown.tell()})
		}
	}
	return rejected
}

// The headers show that the bucket is full, and say nothing of the quota. If no wait were longer than five seconds, a hundred
// calls would be rejected.
func TestALimitThatHeadersDoNotDescribeShutsTheKey(t *testing.T) {
	r := runMachine(Config{})
	assert.Less(t, r.playQuota(shown{rate: 1, full: 20, left: 20}, 1, 0, 600), 30)
	assert.Equal(t, 1, r.reasons(WhyForeign))
}

func TestAQuotaThatHeadersDoNotDescribeIsLearned(t *testing.T) {
	r := runMachine(Config{})
	assert.Less(t, r.playQuota(shown{rate: 5, full: 50, left: 50}, 100, 600, 1200), 30)
	assert.InDelta(t, 60, r.spans.Window, 12)
	assert.Positive(t, r.reasons(WhyWindow))
	assert.InDelta(t, 1, r.Calls.Rate, 0.1)
	assert.InDelta(t, r.Calls.Rate, r.Calls.Pace(), 0.2*r.Calls.Rate, "a full bucket is no reason for more")
}

// The calls between two such rejections were admitted, though their answers are still to come.
func TestRejectionsAmongAdmittedCallsShutNothing(t *testing.T) {
	for admitted, want := range map[bool]bool{true: false, false: true} {
		r := runMachine(Config{})
		none := Refusal{Calls: told(60, 5, 1)}
		c := r.send(1)
		c.Others = 0
		r.Refused(1.1, c, none)
		for at := 1.2; at < 2; at += 0.1 {
			if c := r.send(at); !admitted {
				r.tally.Refused(c)
			}
		}
		c = r.send(3)
		c.Others = 0
		r.Refused(3.1, c, none)
		assert.Equal(t, want, r.Door.Shut())
	}
}

// A cap of long calls rejects, too, while nothing gets through.
func TestProbesAreFrequentWhileOtherCallsAreInFlight(t *testing.T) {
	r := runMachine(Config{})
	r.sendMany(1)
	r.spans.Shut(1000)
	assert.InDelta(t, 0.01, r.openRate(Call{Others: 1}), 1e-3, "ten calls in a thousand seconds")
	assert.InDelta(t, 1, probeShare*longestPause*r.openRate(Call{Others: 2}), 1e-9)
}

func TestAWindowThatHeadersDoNotDescribeMayTurnOutLonger(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	r.quota.Calls.Known = true
	for window, want := range map[float64]float64{10: 70, 0: 0} {
		r.spans = Spans{Window: window, holds: 100, begin: 30, shut: 80}
		r.endSpan(100, 100)
		assert.InDelta(t, want, r.spans.Window, 1e-9)
	}
}

func TestAClosureThatHeadersDoNotExplainIsAWindowIfItLastsForMostOfTheTime(t *testing.T) {
	for shut, want := range map[float64]float64{50: 60, 70: 0} {
		r := runMachine(Config{CallRate: 10})
		r.quota.Calls.Known, r.Door.foreign = true, 2
		r.spans = Spans{begin: 30, shut: shut, last: 60, got: 50}
		r.endSpan(90, 50)
		assert.InDelta(t, want, r.spans.Window, 1e-9)
	}
}

func TestSingleProbesGoToAKeyThatAnotherLimitShut(t *testing.T) {
	d := newDoor(0)
	d.foreign = 2
	d.KeepShut(10, 0, 0, 1, 0)
	assert.True(t, d.probing, "from the first on")
}

// The first calls after an opening are a burst.
func TestProbesTakeAShareOfNoMoreThanThePace(t *testing.T) {
	m := New(Config{Initial: 4, Max: 100, CallRate: 1})
	for i := range 100 {
		m.Sent(Call{Seq: int64(i + 1), At: 1})
	}
	m.spans.Shut(2)
	assert.InDelta(t, 1, m.openRate(Call{}), 1e-9)
	m.Calls.Rate = 1e-3
	assert.InDelta(t, 1/(probeShare*longestPause), m.openRate(Call{Others: 2}), 1e-9, "it may be a cap")
}
