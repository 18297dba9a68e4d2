package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func (c *Claim) taken(n, others int) {
	for range n {
		c.Taken(others)
	}
}

func TestRefusalsKeepComingAtOneLevel(t *testing.T) {
	for _, c := range []struct {
		name                string
		levels              []int
		asks                bool
		below, at, above    int // calls taken before each refusal
		want, shared, alone bool
	}{
		{"a cap", []int{10, 10, 10}, false, 100, 0, 0, true, false, true},
		{"about one level", []int{10, 11, 10}, false, 100, 0, 0, true, false, true},
		{"not often enough", []int{10, 10}, false, 100, 0, 0, false, false, true},
		{"here and there", []int{10, 20, 10}, false, 100, 0, 0, false, false, true},
		{"with a Retry-After", []int{10, 10, 10}, true, 100, 0, 0, false, false, true},
		{"of calls alone", []int{1, 1, 1}, false, 100, 0, 0, false, false, true},
		{"on little evidence", []int{10, 10, 10}, false, 14, 0, 0, false, false, true},
		{"of slow calls, few between two", []int{10, 10, 10}, false, 15, 0, 0, true, false, false},
		{"as much is taken there", []int{10, 10, 10}, false, 70, 30, 0, false, true, false},
		{"as much is taken there, with hundreds in flight", []int{300, 300, 300}, false, 70, 30, 0, false, true, false},
		{"some is taken there", []int{10, 10, 10}, false, 94, 6, 0, false, false, false},
		{"hardly any is taken there", []int{10, 10, 10}, false, 95, 5, 0, true, false, false},
		{"more is taken above", []int{10, 10, 10}, false, 94, 0, 6, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k Claim
			for _, level := range c.levels {
				k.taken(c.below, 0)
				k.taken(c.at, level)
				k.taken(c.above, level+5)
				k.Refused(level, c.asks)
			}
			assert.Equal(t, c.want, k.repeats.Show())
			assert.Equal(t, c.shared, k.shared)
			assert.Equal(t, c.alone, k.untaken)
			k.repeats.Forget()
			assert.False(t, k.repeats.Show())
		})
	}
}

func TestARefusalUnlikeACapBeginsAnew(t *testing.T) {
	var k Claim
	for _, asks := range []bool{false, false, true, false, false} {
		k.taken(100, 5)
		k.Refused(10, asks)
		assert.False(t, k.repeats.Show())
	}
	k.taken(100, 5)
	k.Refused(10, false)
	assert.True(t, k.repeats.Show())
}

// Calls taken at the level speak of one refusal only, however few they are.
func TestALevelIsSharedForOneRefusal(t *testing.T) {
	var k Claim
	for _, at := range []int{1, 0} {
		k.taken(several, 5)
		k.taken(at, 10)
		k.Refused(10, false)
		assert.Equal(t, at > 0, k.shared)
	}
}

// claimedAtTen is a claim of a cap of 10 and the last of n calls a second apart.
func claimedAtTen(n int) (*Claim, Call) {
	k, x := &Claim{}, Call{Others: 10}
	k.Begin(x, 100)
	for range n {
		x.Seq++
		x.At++
		k.Sent(x)
	}
	return k, x
}

func TestClaimHolds(t *testing.T) {
	const trip = 1
	for _, c := range []struct {
		name   string
		sent   int
		others int
		ages   []float64 // seconds since the cut before, of each refusal
		want   bool
	}{
		{"refusals now and then", 200, 10, []float64{9, 9, 9, 9, 9}, true},
		{"soon after three cuts", 200, 10, []float64{1, 1, 1}, true},
		{"soon after four: the cuts do not help", 200, 10, []float64{1, 1, 1, 1}, false},
		{"a cut that helps makes up for one", 200, 10, []float64{1, 1, 1, 9, 1}, true},
		{"no more than that", 200, 10, []float64{1, 1, 1, 9, 1, 1}, false},
		{"two round trips are not soon", 200, 10, []float64{2, 2, 2, 2, 2, 2}, true},
		{"as many as a cap refuses", 60, 10, []float64{9, 9, 9}, true},
		{"more than a cap refuses", 59, 10, []float64{9, 9, 9}, false},
		{"two say nothing", 10, 10, []float64{9, 9}, true},
		{"the level falls", 299, 7, []float64{9, 9, 9}, false},
		{"a little", 299, 8, []float64{9, 9, 9}, true},
		{"after the trial", 300, 7, []float64{9, 9, 9}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, x := claimedAtTen(c.sent)
			x.Others = c.others
			holds := true
			for _, age := range c.ages {
				assert.True(t, holds)
				holds = k.Weigh(x, x.At-age, trip, false)
			}
			assert.Equal(t, c.want, holds)
		})
	}
}

// Calls come a second apart and, before each refusal, five of them closer.
func TestRefusalsWhereCallsCrowdAreARate(t *testing.T) {
	for _, c := range []struct {
		name     string
		gap      float64
		refusals int
		hovers   bool
		want     bool
	}{
		{"four where calls crowd", 0.2, 4, true, false},
		{"three", 0.2, 3, true, true},
		{"as far apart as ever", 1, 20, true, true},
		{"of a bound that does not hover", 0.2, 4, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, x := claimedAtTen(200)
			holds := true
			for range c.refusals {
				for i := range 55 {
					x.Seq++
					x.At++
					if i >= 50 {
						x.At += c.gap - 1
					}
					k.Sent(x)
				}
				k.epochs = 0 // how many there are is another matter
				holds = k.Weigh(x, x.At-9, 1, c.hovers)
			}
			assert.Equal(t, c.want, holds)
		})
	}
}

func TestARefusalElsewhereWeighsAgainstThoseWhereCallsCrowd(t *testing.T) {
	k, x := claimedAtTen(200)
	k.scatter = 3
	k.weighCrowd(x)
	assert.EqualValues(t, 2, k.scatter)
	k.weighCrowd(Call{Seq: 1})
	assert.EqualValues(t, 2, k.scatter, "too long ago to tell")
}

func TestNoCapRefusesACallThatIsAlone(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  int
		between int // calls from one refusal to the next
		want    bool
	}{
		{"twice", 0, lonelyFor - 1, false},
		{"long ago", 0, lonelyFor, true},
		{"with another one", 1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, x := claimedAtTen(400)
			x.Others = c.others
			assert.True(t, k.Weigh(x, x.At-9, 1, true))
			for range c.between {
				x.Seq++
				x.At++
				k.Sent(x)
			}
			assert.Equal(t, c.want, k.Weigh(x, x.At-9, 1, true))
			if !c.want {
				assert.True(t, k.Weigh(x, x.At-9, 1, true), "counted anew")
			}
		})
	}
}

func TestAClaimThatHoversHoldsUntilCutsDoNotHelp(t *testing.T) {
	for _, c := range []struct {
		name     string
		refusals int
		age      float64
		hovers   bool
		want     bool
	}{
		{"many refusals, far below the claim", 30, 9, true, true},
		{"again and again", 9, 1, true, true},
		{"too often", 10, 1, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, x := claimedAtTen(200)
			holds := true
			for range c.refusals {
				holds = k.Weigh(x, x.At-c.age, 1, c.hovers)
			}
			assert.Equal(t, c.want, holds)
		})
	}
}

func TestNoiseShareOfAClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		hits  float64 // 100 were before the claim, and 100 calls since
		again int
		share float64
		ok    bool
	}{
		{"small enough", 107, 0, 0.07, true},
		{"too large", 108, 0, 0.08, false},
		{"it is a rate", 107, 6, 0.07, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, x := claimedAtTen(100)
			for range c.again {
				k.Weigh(x, x.At, 1, false)
			}
			share, ok := k.Noise(c.hits)
			assert.InDelta(t, c.share, share, 1e-9)
			assert.Equal(t, c.ok, ok)
		})
	}
}

// claimedAndShut is a machine with a cap of five on trial that has refused the next call, too.
func claimedAndShut() *machineRun {
	r := runMachine(Config{})
	r.Refused(1.1, r.send(1), Refusal{})
	r.Refused(1.3, r.send(1.2), Refusal{})
	return r
}

func TestACapOnTrialReopensCallByCall(t *testing.T) {
	r := claimedAndShut()
	assert.Equal(t, 5, r.InFlight())
	assert.Zero(t, r.Wait(r.Door.Until, 100, 0))
	assert.Equal(t, 1, r.InFlight(), "all callers have waited")
	at := r.Door.Until
	for n := 2; n <= 5; n++ {
		r.Answered(at+0.2, r.send(at), Answer{Used: 100, InFlight: n - 2})
		at += 0.3
		r.Wait(at, 100, 0)
		assert.Equal(t, n, r.InFlight())
	}
}

// Calls from before the first pause end during the next one.
func TestACapOnTrialReopensFromTheCallsStillInFlightAfterEachPause(t *testing.T) {
	r := claimedAndShut()
	for _, inFlight := range []int{3, 1, 0} {
		at := r.Door.Until
		assert.Zero(t, r.Wait(at, 100, inFlight))
		assert.Equal(t, inFlight+1, r.InFlight())
		r.Refused(at+0.1, r.send(at), Refusal{})
	}
}

// The first refusal may be of the first of the calls that left together, which looks as if it had been alone.
func TestTheFirstOfManyIsNotAlone(t *testing.T) {
	for others, want := range map[int]bool{0: false, 1: true, 7: true} {
		r := runMachine(Config{})
		first := Call{Seq: 1, Tokens: 100, Total: 100}
		r.Sent(first)
		r.last = first
		for range others {
			r.send(0)
		}
		r.Refused(0.1, first, Refusal{})
		assert.Equal(t, want, r.Flight.Claimed, "%d others", others)
		if want {
			assert.Equal(t, others, r.InFlight())
		}
	}
}

// While a cap that has fallen drains, nothing is admitted. The first admitted call does not prove that the old level holds.
func TestTheBoundReopensCallByCallUnlessCallsAreSpaced(t *testing.T) {
	for _, c := range []struct {
		name  string
		alter func(*machineRun)
		want  int
	}{
		{"a cap that has held for long", func(r *machineRun) { r.claim.sent = newFor }, 1},
		{"a cap that others share, with most calls still out", func(r *machineRun) { r.Flight.Hover(2) }, 2},
		{"a cap that others share, if it has fallen", func(r *machineRun) { r.Flight.Hover(5) }, 1},
		{"a cap of which it is told its part", func(r *machineRun) {
			r.Flight.part = true
			r.Flight.Hover(5)
		}, 5},
		{"a cap beside a rate", func(r *machineRun) { r.Calls.Expect(0.1, 20, false) }, 1},
		{"a refuted cap before a rate is measured", func(r *machineRun) { r.Flight.Claimed = false }, 1},
		{"a rate", func(r *machineRun) {
			r.Flight.Claimed = false
			r.Calls.Expect(0.1, 20, false)
		}, 5},
		{"headers", func(r *machineRun) {
			r.Flight.Claimed = false
			r.Heard(1.4, r.send(1.4), told(6, 5, 10), Told{})
		}, 5},
		{"headers that are ignored", func(r *machineRun) {
			r.Flight.Claimed = false
			r.Heard(1.4, r.send(1.4), told(6, 5, 10), Told{})
			r.trust.Low(1.4)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := claimedAndShut()
			c.alter(r)
			r.Wait(r.Door.Until, 100, 0)
			assert.Equal(t, c.want, r.InFlight())
		})
	}
}

func TestCallsInFlightAreNotReopened(t *testing.T) {
	r := claimedAndShut()
	assert.Zero(t, r.Wait(r.Door.Until, 100, 3))
	assert.Equal(t, 4, r.InFlight())
}

// Under a cap that others share, 429s may be more than 5 % of the calls.
func TestASharedCapIsKeptWhileItReopens(t *testing.T) {
	r := claimedAndShut()
	r.Flight.Hover(20)
	r.levels = Memory{} // no trial
	r.claim.sent, r.claim.epochs = 100, 10
	at := r.Door.Until
	r.Wait(at, 100, 2)
	r.Answered(at+5, r.send(at), Answer{Used: 100, InFlight: 2})
	r.Wait(at+6, 100, 3)
	r.Refused(at+6.1, r.send(at+6), Refusal{})
	assert.True(t, r.Flight.Claimed)
}

func TestASharedCapThatRejectsCallsAloneIsGivenUp(t *testing.T) {
	for name, alter := range map[string]func(*machineRun){
		"its bound reopens": func(r *machineRun) {
			r.Flight.Hover(5)
			r.claim.shared = true
		},
		"its bound hovers": func(r *machineRun) { r.Flight.Hover(2) },
	} {
		t.Run(name, func(t *testing.T) {
			r := claimedAndShut()
			alter(r)
			for at := 2.0; r.Flight.Claimed; at += 100 {
				if at > 1000 {
					t.Fatal("it never is")
				}
				r.Wait(max(at, r.Door.Until), 100, 0)
				c := r.send(at)
				c.Others = 0
				r.Refused(at+0.1, c, Refusal{})
				assert.False(t, !r.Flight.Claimed && r.Door.refused < convinced, "too soon")
			}
			assert.GreaterOrEqual(t, r.Door.refused, convinced)
		})
	}
}

// Nothing is admitted while the calls that fill a cap are out, which may take minutes.
func TestAFullCapAdmitsNothingUntilACallEnds(t *testing.T) {
	for ends, want := range map[bool]bool{false: true, true: false} {
		r := runMachine(Config{})
		out := r.send(1)
		r.Refused(1.1, r.send(1), Refusal{})
		if ends {
			r.Answered(1.2, out, Answer{InFlight: 4})
		}
		for at := 2.0; at < 2+noneTaken; at++ {
			r.Refused(at+0.1, r.send(at), Refusal{})
		}
		assert.Equal(t, want, r.Flight.Claimed, "a call ends: %v", ends)
	}
}
