package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Room in the headers of another limit is no reason for a faster pace for a quarter of an hour, and both ends are reported. Headers
// that are ignored meanwhile explain nothing.
func TestRoomInTheHeadersCountsAgain(t *testing.T) {
	room := Refusal{Asked: 1, Calls: told(6000, 99, 0.01)}
	for _, c := range []struct {
		name   string
		then   Refusal
		agreed int
		room   bool
	}{
		{"a refusal without headers", Refusal{Asked: 1}, enough, false},
		{"one that shows none left", Refusal{Asked: 1, Calls: told(6000, 0, 0.01)}, enough, true},
		{"marks that do not agree", Refusal{Asked: 1}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runMachine(Config{CallRate: 10})
			r.calm.agreed = enough
			r.weighRoom(1, r.send(1), &room)
			r.weighRoom(2, r.send(2), &room)
			assert.Equal(t, 1, r.reasons(WhyNoRoom))
			r.calm.agreed = c.agreed
			r.weighRoom(3, r.send(3), &c.then)
			assert.Equal(t, c.room, r.noRoomUntil == 0)
			r.Wait(2+remembered-1, 100, 1)
			assert.Equal(t, c.room, r.noRoomUntil == 0)
			r.Wait(2+remembered, 100, 1)
			assert.Zero(t, r.noRoomUntil)
			assert.Equal(t, 1, r.reasons(WhyRoom))
		})
	}
}

// runSince is a machine whose first call left at start, and 200 more at 31 s.
func runSince(start float64) *machineRun {
	r := runMachine(Config{})
	r.last = Call{Seq: 1, At: start, Tokens: 100, Total: 100}
	r.tally.Sent(r.last)
	for range 200 {
		r.send(31)
	}
	return r
}

// What a full bucket let through at first is no rate that has held.
func TestACapThatIsGivenUpEarlyHasShownNoRate(t *testing.T) {
	for start, want := range map[float64]float64{0: 200. / unmeasured, 30: 0} {
		r := runSince(start)
		r.giveUpCap(80, r.last)
		assert.Zero(t, r.reasons(WhyNoCap), "there is none")
		r.Flight.Claimed = true
		r.giveUpCap(80, r.last)
		assert.False(t, r.Flight.Claimed)
		assert.Equal(t, 1, r.reasons(WhyNoCap))
		assert.InDelta(t, want, r.rates.held, 0.1, "the first call left at %v", start)
	}
}

// Nothing has measured what was let through until then.
func TestTheFirstRateThatComesLateIsNotAllThatHasHeld(t *testing.T) {
	for start, want := range map[float64]float64{0: 200. / unmeasured, 30: 0} {
		r := runSince(start)
		r.cutPace(80, r.last, &Refusal{}, Rate{Calls: 1, Span: 1})
		assert.InDelta(t, want, r.rates.held, 0.1, "the first call left at %v", start)
		r.rates = Memory{}
		r.cutPace(90, r.last, &Refusal{}, Rate{Calls: 1, Span: 1})
		assert.Zero(t, r.rates.held, "later rates are compared with the one before")
	}
}

// An outage that refutes a cap does not make what the cap let through before unknown.
func TestACapThatAnOutageRefutesHasShownARate(t *testing.T) {
	r := runMachine(Config{Initial: 4, Max: 200})
	r.Flight.Cap(5, 1)
	r.Flight.Claimed, r.marked = true, true
	for i := 1; i <= 700; i++ { // ten a second
		c := r.send(float64(i) / 10)
		r.Answered(c.At+0.01, c, Answer{Used: 100, InFlight: 4})
	}
	r.beginEpoch(r.last.At)
	r.tally.Mark(r.last)
	for at := 70.5; r.Flight.Claimed && at < 80; at++ {
		c := r.send(at)
		c.Others = 0
		r.Refused(at+0.1, c, Refusal{})
	}
	assert.False(t, r.Flight.Claimed)
	assert.Greater(t, r.rates.held, 9.)
}

// A probe that was not sent has not got through.
func TestAProbeThatWasNotSentOpensNothing(t *testing.T) {
	for _, lost := range []bool{false, true} {
		d := newDoor(0)
		d.probing = true
		d.Sent(10)
		if lost {
			d.Unsent(10)
		} else {
			d.Unsent(9) // another call
		}
		_, found := d.Probing(10 + d.RefusalTimeout())
		assert.Equal(t, lost, found == 0)
	}
}

func TestWhatIsTriedIsNotSaved(t *testing.T) {
	r := runMachine(Config{CallRate: 2})
	r.marked = true
	r.Flight.Cap(10, 1)
	r.rates.held, r.rates.trying, r.rates.until, r.rates.from = 20, true, 100, 2
	r.Calls.Set(20, 20)
	assert.InDelta(t, 2, r.Save().Calls, 0)
	r.rates.trying = false
	assert.InDelta(t, 20, r.Save().Calls, 0)

	r.Flight.Return(40)
	r.levels.trying, r.levels.until = true, 100
	assert.InDelta(t, 10, r.Save().InFlight, 1e-9)
	r.capRate.trying, r.Flight.Claimed = true, true
	r.capRate.before = paces{3, 300}
	s := r.Save()
	assert.Equal(t, Saved{InFlight: 10, Calls: 3, Tokens: 300}, Saved{InFlight: s.InFlight, Claimed: s.Claimed, Calls: s.Calls, Tokens: s.Tokens})
}

func TestAPauseDoesNotEndASlowStart(t *testing.T) {
	f := NewFlight(10, 100)
	f.Reopen(3)
	assert.True(t, f.Starting())
	assert.Equal(t, 4, f.Bound(0))
	f.Reopen(7)
	assert.Equal(t, 4, f.Bound(0), "it is lower already")
}

func TestHeadersThatAreTooLowHaveNotBeenUntrue(t *testing.T) {
	var tr Trust
	tr.Low(0)
	assert.Equal(t, 8, broken(&tr, remembered, 1), "as many rejections as at first")
}
