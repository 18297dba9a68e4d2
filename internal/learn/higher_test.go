package learn

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// hoversAtTen is a machine whose bound hovers at ten, because calls are taken where one was
// rejected. The rejection may have named the cap.
func hoversAtTen(named bool) *machineRun {
	r := runMachine(Config{Initial: 20, Max: 100})
	r.Flight.Claimed, r.claim.shared = true, true
	r.cutFlight(1, Call{Seq: 1, At: 1, Others: 10}, named)
	return r
}

func TestTwiceTheBoundThatHoversIsTried(t *testing.T) {
	r := hoversAtTen(false)
	r.Wait(2.9, 100, 0)
	assert.Equal(t, 10, r.InFlight())
	r.Wait(3, 100, 0)
	assert.Equal(t, 11, r.InFlight(), "and more with the answers")
	assert.Equal(t, 1, r.reasons(WhyMore))
	for at := 3.1; at < 5.1; at += 0.1 {
		r.Answered(at+0.05, r.send(at), Answer{InFlight: 50})
	}
	assert.Equal(t, climbing, r.Flight.mode, "twenty calls are taken")
	assert.InDelta(t, 11+20*trialGain, r.Flight.bound, 1)
}

func TestARejectionEndsTheTrialOfTwiceTheBound(t *testing.T) {
	r := hoversAtTen(false)
	r.Wait(3, 100, 0)
	for at := 3.1; at < 3.9; at += 0.1 {
		r.Answered(at+0.05, r.send(at), Answer{InFlight: 50})
	}
	assert.Equal(t, 12, r.InFlight())
	r.Refused(5.1, r.send(5), Refusal{})
	assert.Equal(t, 10, r.InFlight())
	assert.Equal(t, hovering, r.Flight.mode)
	assert.Zero(t, r.reasons(WhyBefore)+r.reasons(WhyNotYet), "nothing was higher before")
	r.Wait(9, 100, 0)
	assert.Equal(t, 10, r.InFlight(), "the next trial is later")
	r.Wait(9.2, 100, 0)
	assert.Equal(t, 11, r.InFlight())
}

// Else a bound under a cap that is gone would hardly grow where calls take long.
func TestMoreThanABoundThatHoversIsTriedForEver(t *testing.T) {
	const hour = 3600.0
	r := hoversAtTen(true)
	trials := 0
	for now := 2.0; now < 3*hour; now++ {
		if r.Wait(now, 100, 0); r.higher.Trying(now) {
			r.Refused(now+0.2, r.send(now+0.1), Refusal{Names: FlightLimit})
			if now > 2*hour {
				trials++
			}
		}
	}
	assert.Equal(t, 10, r.InFlight())
	assert.InDelta(t, hour/rarestTrial, trials, 1)
}

func TestATrialOfWhatHeldBeforeThatIsOverDoesNotPreventOneOfMore(t *testing.T) {
	r := hoversAtTen(false)
	r.levels.Fell(1, 50)
	r.Wait(1+2*remembered, 100, 0)
	assert.Equal(t, 1, r.reasons(WhyMore))
	assert.Zero(t, r.reasons(WhyBefore))
}

// A cap of 50 that becomes one of ten that others share: at first it is tried what held before.
func TestMoreIsTriedAfterALargeFallToo(t *testing.T) {
	r := runMachine(Config{Initial: 50, Max: 100})
	r.Flight.Claimed = true
	for i, others := range []int{50, 50, 50, 50, 10} {
		r.claim.shared = others == 10
		c := r.send(10 * float64(i+1))
		c.Others = others
		r.cutFlight(c.At, c, true)
	}
	more := 0
	for now := 51.0; now < 2*3600; now++ {
		if r.Wait(now, 100, 0); r.levelTried() {
			if r.higher.trying {
				more++
			}
			r.Refused(now+0.2, r.send(now+0.1), Refusal{Names: FlightLimit})
		}
	}
	assert.Positive(t, r.reasons(WhyBefore))
	assert.Greater(t, more, 10)
}

// The demand ends during a trial, and comes back two hours later.
func TestATrialOfMoreEnds(t *testing.T) {
	r := hoversAtTen(false)
	r.Wait(3, 100, 0)
	r.Slack(3.1)
	at := 7200.0
	for range 15 {
		at += r.Wait(at, 100, 0)
		r.Answered(at+0.05, r.send(at), Answer{InFlight: 5})
		at += 0.1
	}
	r.Refused(at+0.1, r.send(at), Refusal{Asked: 1})
	assert.True(t, r.Calls.On, "the rejection measures the rate")
}

func TestAfterALongTimeWithoutATrialOfMoreTheNextOneComesSoon(t *testing.T) {
	m := Memory{first: 2, endless: true}
	m.Explores(0, 20)
	trials(&m, 0, 3600)
	m.Explores(3600, 20)
	assert.Greater(t, m.next, 3600+2.0)
	m.Explores(3600+2*remembered, 20)
	assert.InDelta(t, 3600+2*remembered+2, m.next, 1e-9)
}

func TestTrialsThatReachFarAboveTheBoundRefuteTheCap(t *testing.T) {
	for others, claimed := range map[int]bool{13: true, 14: false} { // three cuts above ten are 13.6
		r := hoversAtTen(false)
		now := 3.0
		for range convinced {
			r.Wait(now, 100, 0)
			assert.True(t, r.Flight.Claimed && r.higher.trying)
			r.Answered(now+0.1, r.send(now), Answer{InFlight: 50})
			c := r.send(now + 1)
			c.Others = others
			r.Refused(now+1.1, c, Refusal{})
			now = r.higher.next
		}
		assert.Equal(t, claimed, r.Flight.Claimed, "%d others", others)
		assert.Equal(t, claimed, !r.Calls.On)
	}
}

func TestATrialDoesNotRaiseTheLevelBelowWhichNoCapRejects(t *testing.T) {
	m := New(Config{Initial: 10, Max: 1000})
	m.Flight.Cap(10, 2)
	m.levels.Fell(0, 100)
	m.levels.Begin(0, 1, 10)
	m.Flight.Return(100)
	assert.False(t, m.noCap(Call{Others: 5}))
	assert.True(t, m.noCap(Call{Others: 4}))
}

func TestTwiceACapThatIsNamedIsTriedLater(t *testing.T) {
	r := hoversAtTen(true)
	r.Wait(30.9, 100, 0)
	assert.Equal(t, 10, r.InFlight())
	r.Wait(31, 100, 0)
	assert.Equal(t, 11, r.InFlight())
	assert.Equal(t, 1, r.reasons(WhyMore))
}

func TestTheFirstSilentRejectionIsACapIfAnotherCallWasOut(t *testing.T) {
	for others, claimed := range []bool{false, true, true} {
		r := runMachine(Config{Initial: 4, Max: 100})
		c := r.send(0.1)
		c.Others = others
		r.Refused(0.2, c, Refusal{})
		assert.Equal(t, claimed, r.Flight.Claimed, "%d others", others)
	}
}

// Six in a thousand calls are rejected at random, without a Retry-After, and nothing else
// limits. That looks like a cap that others share: calls are taken at the level that is rejected.
func TestRandomRejectionsDoNotHoldTheCallsInFlightDown(t *testing.T) {
	const trip, step = 1.0, 0.01
	r := runMachine(Config{Initial: 4, Max: 100})
	chance := rand.New(rand.NewPCG(1, 1))
	var out []Call
	taken := 0.0
	for now := 0.0; now < 600; now += step {
		for len(out) > 0 && now >= out[0].At+trip {
			c := out[0]
			out = out[1:]
			if chance.Float64() < 0.006 {
				r.Refused(now, c, Refusal{})
				continue
			}
			r.Answered(now, c, Answer{Used: 100, InFlight: len(out)})
			taken++
		}
		for r.Wait(now, 100, len(out)) == 0 {
			c := r.send(now)
			c.Others = len(out)
			out = append(out, c)
		}
	}
	assert.Greater(t, taken/600, 15.0, "calls per second")
}

// Else a bound of a few calls, which takes long to grow by one, would never grow.
func TestATrialKeepsThePartOfACallByWhichTheBoundHasGrown(t *testing.T) {
	r := hoversAtTen(false)
	r.Flight.bound = 10.7
	r.Wait(3, 100, 0)
	assert.Equal(t, 11, r.InFlight())
	r.Answered(3.15, r.send(3.1), Answer{InFlight: 50})
	r.Refused(5.1, r.send(5), Refusal{})
	assert.InDelta(t, 10.7, r.Flight.bound, 0)
}

func TestARejectionThatDoesNotNameTheCapIsNotDueToIt(t *testing.T) {
	r := hoversAtTen(true)
	for i := range 2 * foreignMost {
		at := 2 + float64(i)
		r.Answered(at+0.1, r.send(at), Answer{})
		r.Refused(at+0.2, r.send(at+0.1), Refusal{})
		if i < foreignMost {
			assert.Equal(t, 10, r.InFlight())
		}
	}
	assert.Less(t, r.InFlight(), 10, "if they keep coming, it may be")
}

func TestAnOutageDoesNotRefuteACapThatIsNamed(t *testing.T) {
	for _, named := range []bool{true, false} {
		r := hoversAtTen(named)
		r.Flight.hold(10)
		for at := 2.0; at < 20; at++ {
			c := r.send(at)
			c.Others = 0
			r.Refused(at+0.1, c, Refusal{})
		}
		assert.Equal(t, named, r.Flight.Claimed)
	}
}
