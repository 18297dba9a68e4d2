package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func told(limit, remaining, reset float64) Told {
	return Told{Known: true, Limit: limit, Remaining: remaining, Reset: reset}
}

func TestMirrorLearnsTheRefill(t *testing.T) {
	for _, c := range []struct {
		name  string
		told  []Told
		taken float64
		want  float64 // per second
	}{
		{"a limit per minute, of which the bucket holds little", []Told{told(600, 9, 1)}, 1, 599.5 / 60},
		{"slower than that, by the reset", []Told{told(60, 10, 100)}, 1, 0.5},
		{"a small limit that is not per minute: as fast as it comes back", []Told{told(1, 0, 1)}, 1, 1 / (1 + resetError)},
		{"a small limit is rounded", []Told{told(3, 0, 0)}, 1, 2.5 / 60},
		{"in the time until the reset, what the call took comes in", []Told{told(3, 0, 20-resetError)}, 1, 1.0 / 20},
		{"but not more than rounds to the limit", []Told{told(3, 0, 10)}, 1, 3.5 / 60},
		{"a limit that the bucket holds: by the reset", []Told{told(100, 99, 0.5), told(100, 90, 4.75)}, 1, 2},
		{"smoothed once it was seen", []Told{told(100, 99, 0.5), told(100, 90, 4.75), told(100, 90, 2.375)}, 1, 2.4},
		{"too little is missing to tell", []Told{told(120, 119, 9)}, 1, 2},
		{"seen full by a refused call", []Told{told(120, 119, 0), told(120, 110, 9.5)}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m Mirror
			for i, told := range c.told {
				m.Observe(int64(i+1), 1+0.1*float64(i), 1, c.taken, told)
			}
			assert.InDelta(t, c.want, m.refill, 1e-9)
		})
	}
}

// answersOf has q hear so many answers that declare the same, one each second after the call last.
func (q *Quota) answersOf(last Call, n int, calls, tokens Told) (newest Call, anew int) {
	var tally Tally
	for range n {
		last = Call{Seq: last.Seq + 1, At: last.At + 1, Tokens: 10, Total: last.Total + 10}
		q.Sent(last)
		if _, yes := q.Observe(last.At+0.1, last, 1, calls, tokens, &tally); yes {
			anew++
		}
	}
	return last, anew
}

// The headers of a provider that has changed may be of another kind: here the limit is what the bucket holds at first, and then what may
// go in a minute.
func TestAnotherLimitMayBeOfAnotherKind(t *testing.T) {
	const perMinute = 59.5 / 60
	var q Quota
	c, _ := q.answersOf(Call{}, 1, told(100, 99, 0.5), Told{})
	c, anew := q.answersOf(c, 1, told(100, 80, 10), Told{})
	assert.Zero(t, anew)
	assert.InDelta(t, 1.95, q.Calls.refill, 1e-9)
	c, anew = q.answersOf(c, handful-1, told(60, 8, 2), Told{})
	assert.Zero(t, anew, "a few answers may be about another quota")
	before := q.Calls.others.Rate / q.Calls.refill
	c, anew = q.answersOf(c, 1, told(60, 8, 2), Told{})
	assert.Equal(t, 1, anew)
	assert.InDelta(t, perMinute, q.Calls.refill, 1e-9)
	assert.InDelta(t, before, q.Calls.others.Rate/q.Calls.refill, 1e-9, "others are taken to use the same share")

	late := Call{Seq: 2, At: 2}
	q.Observe(c.At, late, 1, told(100, 99, 0.5), Told{}, &Tally{})
	_, anew = q.answersOf(c, 1, told(60, 8, 2), Told{})
	assert.Zero(t, anew)
	assert.InDelta(t, perMinute, q.Calls.refill, 1e-9, "an earlier answer that arrives later was about the limit before")
}

// It shows at once that it is a bucket, too.
func TestAnotherLimitIsLearnedFromItsFirstAnswers(t *testing.T) {
	var q Quota
	c, _ := q.answersOf(Call{}, 1, told(100, 99, 0.5), Told{})
	c, _ = q.answersOf(c, 5, told(100, 80, 10), Told{})
	q.answersOf(c, handful, told(10, 9, 0.1), Told{})
	assert.InDelta(t, 1/(0.1+resetError), q.Calls.refill, 1e-9, "the rate of the limit before does not count")
}

// Two models may have limits of their own.
func TestLimitsThatAlternateAreNotLearnedAnew(t *testing.T) {
	for name, other := range map[string]float64{"hardly another one": 101, "another one": 300} {
		t.Run(name, func(t *testing.T) {
			var q Quota
			var c Call
			total := 0
			for i := range 600 {
				limit := 100.0
				if i%2 == 1 {
					limit = other
				}
				var anew int
				c, anew = q.answersOf(c, 1, told(limit, 50, 30), told(10*limit, 500, 30))
				total += anew
				q.Calls.others.Rate = max(q.Calls.others.Rate, 0)
			}
			assert.Zero(t, total)
			assert.LessOrEqual(t, q.Calls.others.Rate, q.Calls.refill)
			assert.Positive(t, q.charge.call, "what calls reserve is still learned")
		})
	}
}

// bucket holds 100, of which so many are left, and refills by 2 a second.
func bucket(left float64) *Mirror {
	var m Mirror
	m.Observe(1, 1, 1, 1, told(100, 99, 0.5))
	m.Known = false
	m.Observe(2, 1, 100-left, 1, told(100, left, (100-left-0.5)/2))
	return &m
}

func TestMirrorWaitsForTheBucket(t *testing.T) {
	for _, c := range []struct {
		name              string
		left, now, n, own float64
		wait              float64
		plentiful         bool
	}{
		{"two calls' worth are spared", 2, 1, 1, 0, 0.5, false},
		{"enough", 3, 1, 1, 0, 0, false},
		{"sent since", 3, 1, 1, 4, 2, false},
		{"refilled since", 3, 3, 1, 4, 0, false},
		{"plenty", 80, 1, 1, 0, 0, true},
		{"no longer", 80, 1, 1, 10, 0, false},
		{"more than the bucket holds goes when it is full", 60, 1, 500, 0, 19.75, false},
		{"all that it holds, by the limit", 90, 5.9, 100, 0, 0, true},
		{"and then at once", 60, 21, 500, 0, 0, true},
		{"less is spared of a large part of the bucket", 40, 1, 60, 0, 19.88, false},
		{"nothing of all it holds", 90, 1, 100, 0, 4.75, false},
		{"more than it ever holds: until it is full", 90, 1, 150, 0, 4.75, false},
		{"more than it ever holds, and it is full", 90, 6, 150, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			wait, plentiful := bucket(c.left).Wait(c.now, c.n, c.own, 2, false)
			assert.InDelta(t, c.wait, wait, 0.01)
			assert.Equal(t, c.plentiful, plentiful)
		})
	}
}

// A bucket that fills within the time of a call is full whenever an answer
// tells of it, also where others take all that comes in.
func TestPlentyMeansNothingOfABucketThatFillsAtOnce(t *testing.T) {
	for _, c := range []struct {
		refill float64 // per second, of a bucket of 100
		want   bool
	}{{2, true}, {490, true}, {510, false}} {
		m := bucket(80)
		m.refill = c.refill
		wait, plentiful := m.Wait(1, 1, 0, 2, false)
		assert.Zero(t, wait)
		assert.Equal(t, c.want, plentiful, "%v a second", c.refill)
	}
}

func TestALimitPerMinuteIsNotWhatTheBucketHolds(t *testing.T) {
	var m Mirror
	m.Observe(1, 1, 1, 1, told(600, 9, 0.1)) // it holds 10
	_, plentiful := m.Wait(1, 1, 0, 1, false)
	assert.True(t, plentiful)
	m.Wait(100, 1, 0, 1, false)
	m.Sent(100, 0)
	wait, _ := m.Wait(100, 1, 30, 1, false)
	assert.InDelta(t, 2.3, wait, 0.1, "no more than 10 have come in, and 3 are needed")
}

func TestWhatAFullBucketCouldNotTakeIsLost(t *testing.T) {
	m := bucket(90)
	wait, _ := m.Wait(50, 1, 0, 2, false)
	assert.Zero(t, wait)
	wait, _ = m.Wait(50, 1, 100, 102, false)
	assert.InDelta(t, 1.5, wait, 0.3, "the bucket was full at 50, not over")
	m.Observe(103, 50, 101, 1, told(100, 50, 24.75))
	wait, _ = m.Wait(50, 1, 0, 103, false)
	assert.Zero(t, wait, "a newer answer knows better")
}

// remaining is rounded down: several answers tell more than each.
func TestRemainingIsRoundedDown(t *testing.T) {
	m := bucket(50)
	m.Observe(3, 1.4, 1, 1, told(100, 49, 25.25))
	assert.InDelta(t, 49.8, m.left, 0.01, "50 + 0.8 - 1")
	m.Observe(4, 1.4, 1, 1, told(100, 40, 29.75))
	assert.InDelta(t, 41, m.left, 1e-9, "no more than was told")
	m.Observe(5, 1.4, 1, 1, told(100, 60, 19.75))
	assert.InDelta(t, 60, m.left, 1e-9, "and no less")
}

func TestTurnTellsAWindowFromABucket(t *testing.T) {
	for _, c := range []struct {
		name   string
		resets []float64 // one a step
		step   float64
		want   bool
	}{
		{"the reset stands still", []float64{59, 58, 57, 56}, 1, true},
		{"three in all are not enough", []float64{59, 58, 57}, 1, false},
		{"nearly", []float64{59, 58.04, 57.08, 56.12}, 1, true},
		{"it moves along", []float64{5, 5, 5, 5, 5, 5}, 1, false},
		{"too close together", []float64{59, 58.6, 58.2, 57.8}, 0.4, true},
		{"far apart", []float64{200, 165, 130, 95}, 35, true},
		{"a turn takes one vote", []float64{3, 2, 1, 60, 59, 58}, 1, true},
		{"a bucket that is full", []float64{0, 0, 0, 0}, 1, false},
		{"a bucket again", []float64{59, 58, 57, 56, 57, 58}, 1, false},
		{"a window of a second", []float64{0.9, 0.3, 0.7, 0.1, 0.5, 0.9, 0.3, 0.7, 0.1}, 0.6, true},
		{"of which an answer is seen now and then", []float64{0.9, 0.5, 0.1, 0.7, 0.3, 0.9}, 1.4, false},
		{"a bucket of a second", []float64{0.9, 0.9, 0.9, 0.9, 0.9, 0.9}, 0.6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var turn Turn
			for i, reset := range c.resets {
				turn.Observe(1+float64(i)*c.step, reset)
			}
			if c.name == "too close together" { // every other one counts
				assert.False(t, turn.Windowed())
				return
			}
			assert.Equal(t, c.want, turn.Windowed())
		})
	}
}

// Services round a reset to a whole second, and calls take more or less time to arrive. Their windows were taken for buckets.
func TestAResetThatIsRoundedTellsAWindowFromABucket(t *testing.T) {
	for name, c := range map[string]struct {
		reset func(at float64) float64
		want  bool
	}{
		"a window":            {func(at float64) float64 { return math.Ceil(60 - at) }, true},
		"calls that are late": {func(at float64) float64 { return 60 - at - 0.4*math.Sin(4*at) }, true},
		"a bucket":            {func(at float64) float64 { return math.Ceil(30 + 0.1*math.Sin(9*at)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var turn Turn
			for at := 0.7; at < 40; at += 0.7 {
				turn.Observe(at, c.reset(at))
			}
			assert.Equal(t, c.want, turn.Windowed())
		})
	}
}

func TestTurnPass(t *testing.T) {
	for _, c := range []struct {
		name     string
		now, at  float64
		isPassed bool
	}{
		{"the same window", 69.9, 70, false},
		{"the next", 70, 130, true},
		{"one of those after", 200, 250, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var turn Turn
			turn.Observe(10, 60)
			assert.Equal(t, c.isPassed, turn.Pass(c.now))
			assert.InDelta(t, c.at, turn.At, 1e-9)
		})
	}
}

func TestTheLengthOfAWindowOutlastsItsAnswers(t *testing.T) {
	var turn Turn
	for at := 0.1; at < 59; at += 0.1 {
		turn.Observe(at, 60-at)
	}
	assert.InDelta(t, 60, turn.span, 2.1)
	turn.Observe(3600.5, 0.5)
	assert.InDelta(t, 58, turn.span, 2.1, "nor is it forgotten in a pause")
	for at := 3601.0; at < 7200; at++ {
		turn.Observe(at, 10)
	}
	assert.InDelta(t, 10, turn.span, 0.1, "a shorter one is found out")
}

// One response may be about a longer quota, or state a wrong time. That does not change the length of the window.
func TestALongerWindowIsForgottenWhenTheWindowTurns(t *testing.T) {
	for name, long := range map[string]float64{"an hour more": 3620, "the end of a day": 100, "a day": 86400} {
		t.Run(name, func(t *testing.T) {
			var turn Turn
			for at := 1.0; at < 200; at += 2 {
				reset := 60 - math.Mod(at, 60)
				if at == 21 {
					reset = long
				}
				turn.Observe(at, reset)
				if at == 21 {
					assert.InDelta(t, long, turn.span, 0)
				}
				if at == 23 {
					assert.LessOrEqual(t, turn.span, max(60, 100*(1-2./turnFades)), "another quota")
				}
				if at > 121 {
					assert.InDelta(t, 60, turn.span, 4)
				}
			}
			assert.True(t, turn.Windowed())
		})
	}
}

// window has 10 of 100 left at 4, and turns at 60.
func window() *Mirror {
	var m Mirror
	for s := range 4 {
		m.Observe(int64(s+1), float64(s+1), 1, 1, told(100, float64(13-s), float64(59-s)))
	}
	m.Sent(4, 0)
	return &m
}

func TestAWindowIsSpreadOverItsTime(t *testing.T) {
	for _, c := range []struct {
		name         string
		now, n, own  float64
		sent, waited float64
	}{
		{"evenly", 4, 1, 0, 4, 56. / 11},
		{"some time has gone", 6, 1, 0, 4, 56./11 - 2},
		{"less is left", 4, 1, 5, 4, 56. / 6},
		{"a larger one", 4, 2, 0, 4, 56. / 6},
		{"long since", 30, 1, 0, 4, 0},
		{"nothing is left: until it turns", 4, 1, 10, 4, 56.05},
		{"more than a window holds: when it turns", 4, 99, 1, 4, 56.05},
		{"its reset may be wrong", 60, 99, 50, 4, resetError},
		{"and then within it", 60.05, 99, 50, 4, (99*118.9+100*4)/199. - 60.05},
		{"the next one is full", 60.05, 1, 50, 60.05, 0.58},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := window()
			m.Sent(c.sent, 0)
			wait, plentiful := m.Wait(c.now, c.n, c.own, 4, false)
			assert.InDelta(t, c.waited, wait, 0.03)
			assert.False(t, plentiful)
		})
	}
}

// ownWindow is a window that no other process uses.
func ownWindow() *Mirror {
	m := window()
	m.shared = 0
	return m
}

func TestWhatWasDueInAPauseOfDemandGoesAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		pause  bool
		left   float64
		now    float64
		atOnce int
	}{
		"ten seconds":                       {true, 100, 14, 16},
		"no more than is left":              {true, 8, 14, 8},
		"a whole window":                    {true, 100, 59, 93},
		"no pause: calls waited for others": {false, 100, 14, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := ownWindow()
			m.left = c.left
			if c.pause {
				m.Rest()
			}
			var own float64
			for range 200 {
				wait, _ := m.Wait(c.now, 1, own, 4, false)
				if wait > 0 {
					break
				}
				own++
				m.Sent(c.now, 1)
			}
			assert.InDelta(t, c.atOnce, own, 0)
		})
	}
}

// A pause of an hour makes up for one window, and the next one is spread again.
func TestAPauseInDemandMakesUpForOneWindow(t *testing.T) {
	m := ownWindow()
	m.Rest()
	var own float64
	sendUntil := func(now, end float64) {
		for ; now < end; now += 0.1 {
			for wait, _ := m.Wait(now, 1, own, 4, false); wait == 0; wait, _ = m.Wait(now, 1, own, 4, false) {
				own++
				m.Sent(now, 1)
			}
		}
	}
	begins := m.turn.At + 60*m.turn.span
	sendUntil(begins+1, begins+1.1)
	assert.InDelta(t, 100, own, 0, "at once")
	sendUntil(begins+1.1, begins+m.turn.span)
	assert.InDelta(t, 100, own, 0, "nothing is left")
	sendUntil(begins+m.turn.span, begins+1.5*m.turn.span)
	assert.InDelta(t, 150, own, 2, "half of the next one in half of its time")
}

// What was sent faster than at an even rate is not missing from the next pause.
func TestEachPauseInDemandCountsFromTheCallBeforeIt(t *testing.T) {
	m := ownWindow()
	m.left = 100
	m.Rest()
	own, now := 0.0, 14.0
	for now < 40 {
		wait, _ := m.Wait(now, 1, own, 4, false)
		if wait == 0 {
			own++
			m.Sent(now, 1)
		}
		now += wait
	}
	m.Rest()
	now, own = m.last+6, 0
	m.left, m.Seq = 50, 4
	var atOnce int
	for wait, _ := m.Wait(now, 1, own, 4, false); wait == 0; wait, _ = m.Wait(now, 1, own, 4, false) {
		own++
		m.Sent(now, 1)
		atOnce++
	}
	assert.InDelta(t, 10, atOnce, 1, "six seconds' worth")
}

// A few calls in a long pause leave most of what was due in it.
func TestAFewCallsDoNotUseUpWhatWasDueInAPauseInDemand(t *testing.T) {
	m := ownWindow()
	m.left = 100
	var own float64
	for _, now := range []float64{7, 10, 13, 34} {
		m.Rest()
		for range 200 {
			wait, _ := m.Wait(now, 1, own, 4, false)
			if wait > 0 {
				break
			}
			own++
			m.Sent(now, 1)
			if now < 34 {
				break
			}
		}
	}
	assert.InDelta(t, 50, own, 1, "thirty seconds' worth")
}

// A window that turns in the middle of a burst does not let two of them go at once.
func TestAPauseInDemandMakesUpForOneWindowInTwo(t *testing.T) {
	m := ownWindow()
	m.Rest()
	begins := m.turn.At + 60*m.turn.span
	now, own := begins-1, 0.0
	for wait, _ := m.Wait(now, 1, own, 4, false); wait == 0 && own < 95; wait, _ = m.Wait(now, 1, own, 4, false) {
		own++
		m.Sent(now, 1)
	}
	assert.InDelta(t, 95, own, 0, "late in a window")
	now = begins + 2
	for wait, _ := m.Wait(now, 1, own, 4, false); wait == 0; wait, _ = m.Wait(now, 1, own, 4, false) {
		own++
		m.Sent(now, 1)
	}
	assert.InDelta(t, 95+5+5, own, 1, "the rest, and what has come due since")
}

// What was due in a pause goes at once only if demand paused: not if calls waited meanwhile.
func TestOnlyAPauseInDemandIsMadeUpFor(t *testing.T) {
	for name, c := range map[string]struct {
		tokens bool
		slack  bool
		least  int
		most   int
	}{
		"calls":                {slack: true, least: 40, most: 60},
		"tokens":               {tokens: true, slack: true, least: 1, most: 1}, // what others have used is not known
		"calls that waited":    {least: 1, most: 1},
		"tokens, calls waited": {tokens: true, least: 1, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			const each = 100
			m := New(Config{Initial: 100, Max: 100})
			send := func(seq int64, now float64, a Answer) {
				call := Call{Seq: seq, At: now, Tokens: each, Total: each * float64(seq)}
				m.Sent(call)
				a.Used = each
				m.Answered(now, call, a)
			}
			declared := func(now float64) (a Answer) {
				if c.tokens {
					a.Tokens = told(100*each, each*(100-now), 60-now)
				} else {
					a.Calls = told(100, 100-now, 60-now)
				}
				return a
			}
			for s := range 6 {
				m.Wait(float64(s+1), each, 0)
				send(int64(s+1), float64(s+1), declared(float64(s+1)))
			}
			if c.slack {
				m.Slack(6)
			}
			got := 0
			for got < 200 && m.Wait(36, each, 0) <= 0 {
				got++
				send(int64(6+got), 36, Answer{})
			}
			assert.GreaterOrEqual(t, got, c.least)
			assert.LessOrEqual(t, got, c.most)
		})
	}
}

func TestAPauseThatABucketFollowsMakesUpForNothing(t *testing.T) {
	m := ownWindow()
	m.Rest()
	m.turn.votes = 0
	m.Wait(14, 1, 0, 4, false)
	m.Sent(14, 1)
	m.turn.votes = enough
	wait, _ := m.Wait(14, 1, 1, 4, false)
	assert.Positive(t, wait)
}

// Others pause at the same time, or have used what was due in the pause.
func TestAPauseInDemandIsNotMadeUpForWhereOthersUseTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		with  func(*Mirror)
		now   float64
		waits bool
	}{
		"the window is ours alone":          {func(*Mirror) {}, 14, false},
		"each has a part":                   {func(m *Mirror) { m.part.share = 0.25 }, 14, true},
		"an answer shows more than is ours": {func(m *Mirror) { m.Observe(5, 20, 1, 1, told(100, 50, 40)) }, 34, true},
		"just after the window has turned, the answer may be about the one before": {
			func(m *Mirror) { m.begun = 19; m.Observe(5, 20, 1, 1, told(100, 50, 40)) }, 34, false,
		},
		"a minute into a window of a day": {func(m *Mirror) {
			m.turn = Turn{At: 24 * hour, span: 24 * hour, votes: enough}
			m.Observe(5, 70, 1, 1, told(100_000, 99_950, 24*hour-70))
		}, 100, true},
		"all of it is ours":          {func(m *Mirror) { m.used = 50; m.Observe(5, 20, 1, 1, told(100, 50, 40)) }, 34, false},
		"that was long ago":          {func(m *Mirror) { m.shared = 1 }, 2 + remembered, false},
		"that was a few minutes ago": {func(m *Mirror) { m.shared = 1 }, remembered, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := ownWindow()
			c.with(m)
			m.left = 100
			m.Rest()
			m.Wait(c.now, 1, 0, 5, false)
			m.Sent(c.now, 1)
			wait, _ := m.Wait(c.now, 1, 1, 5, false)
			assert.Equal(t, c.waits, wait > 0)
		})
	}
}

// Once a pause has been made up for, the rest of the window is spread over the rest of its time.
func TestTheRestOfAWindowIsSpreadAfterAPauseInDemand(t *testing.T) {
	m := ownWindow()
	m.left = 40
	m.Rest()
	now, own := 14.0, 0.0
	for own < 40 {
		if wait, _ := m.Wait(now, 1, own, 4, false); wait > 0 {
			now += wait + 0.001
			continue
		}
		own++
		m.Sent(now, 1)
	}
	assert.Greater(t, m.last, m.turn.At-5)
}

// The calls of a small window are spread over the whole of it, but the last one leaves before it turns: a window that begins with its
// first call would otherwise begin late.
func TestAWindowOfFewCallsIsUsedUpBeforeItTurns(t *testing.T) {
	m := Mirror{Known: true, limit: 5, left: 4, turn: Turn{At: 5, span: 5, votes: enough}}
	var own float64
	for now := 0.0; now < 5; now += 0.01 { // asked in between, too
		if wait, _ := m.Wait(now, 1, own, 1, false); wait == 0 {
			own++
			assert.InDelta(t, own, now, 0.011)
			m.Sent(now, 1)
		}
	}
	assert.InDelta(t, 4, own, 0)
}

// Answers about a window that is over arrive while calls of the next one are out. These have used the next one all the same.
func TestWhatWasSentInAWindowHasUsedIt(t *testing.T) {
	m := Mirror{Known: true, limit: 4, turn: Turn{At: 10, span: 1, votes: enough}}
	own := 0.0
	for _, at := range []float64{10.1, 10.3, 10.5} {
		m.Sent(at, 1)
		own++
	}
	_, left := m.windowWait(10.6, 1, own, false)
	assert.InDelta(t, 1, left, 1e-9)
	m.Observe(1, 9.9, 1, 1, told(4, 0, 0.1)) // a second later, of the window before
	_, left = m.windowWait(10.7, 1, own, false)
	assert.InDelta(t, 1, left, 1e-9)
	_, left = m.windowWait(11.1, 1, own, false)
	assert.InDelta(t, 4, left, 1e-9, "the next one is unused")
}

// A window has room if as much of it is left as of its time, less a call: the calls that are left are spread between
// those before and after. Before the second half of a long one, that is no sign of a pace that is too low.
func TestAWindowHasRoom(t *testing.T) {
	for _, c := range []struct {
		span, now, limit, left float64
		want                   bool
	}{
		{60, 30, 100, 49, true},
		{60, 30, 100, 48, false},
		{60, 30, 3, 3, false},
		{60, 30, 4, 4, true},
		{60, 29, 100, 100, false},
		{60, 54, 100, 9, true},
		{60, 54, 100, 8, false},
		{cycleShortest, 1, 100, 100, true},
	} {
		m := Mirror{Known: true, limit: c.limit, left: c.left, turn: Turn{At: c.span, span: c.span, votes: enough}}
		_, plentiful := m.Wait(c.now, 1, 0, 1, false)
		assert.Equal(t, c.want, plentiful, "%v", c)
	}
}

// What is left of a window that no answer is about is what this process has not used. Processes that share a window of a few seconds
// would all take that for a pace that is too low. Where calls take longer than a window, answers are about windows that are over.
func TestAnOldAnswerShowsNoRoomInAWindow(t *testing.T) {
	for heard, want := range map[float64]bool{9.1: true, 8.9: false} {
		m := Mirror{Known: true, limit: 10, left: 10, heard: heard, turn: Turn{At: 10, span: 1, votes: enough}}
		_, plentiful := m.Wait(9.5, 1, 0, 1, false)
		assert.Equal(t, want, plentiful, "%v", heard)
	}
}

// What a bucket of few calls holds says little: one call is most of it.
func TestPlentyMeansNothingOfAFewCalls(t *testing.T) {
	for limit, want := range map[float64]bool{3: false, 4: true} {
		m := Mirror{Known: true, limit: limit, full: limit, left: limit, refill: 1}
		_, plentiful := m.Wait(0, 1, 0, 1, false)
		assert.Equal(t, want, plentiful, "%v", limit)
	}
}

// What others take is an estimate, and so is what was sent since. Neither holds calls
// back for longer than a bucket takes that others have most of.
func TestTheWaitForABucketHasABound(t *testing.T) {
	m := bucket(0) // 100 at 2 a second
	m.others.Rate = 5
	m.Sent(10, 0)
	wait, _ := m.Wait(10, 1, 1e6, 2, false)
	assert.InDelta(t, fillsBy*50, wait, 1)
	wait, _ = m.Wait(10+fillsBy*50.5, 1, 1e6, 2, false)
	assert.Zero(t, wait)
}

func TestOthersTakeFromTheSameBucket(t *testing.T) {
	for _, c := range []struct {
		name                                string
		span, left, own, refill, unit, want float64
		spilt                               bool
	}{
		{"what we did not take", 5, 90, 5, 2, 1, 1.4, false},
		{"nobody", 5, 105, 5, 2, 1, 0, false},
		{"never less than nobody", 5, 150, 5, 2, 1, 0, false},
		{"too short to tell", 4.9, 50, 5, 2, 1, 0, false},
		{"too few tokens to tell", 5, 90, 5, 2, 3, 0, false},
		{"nor is a call of doubt theirs", 10, 90, 5, 2, 2, 1.15, false},
		{"no more than comes in", 5, 50, 5, 2, 1, 2, false},
		{"nor do errors add more", 10, 500, 5, 2, 2, -2, false},
		{"a full bucket spills", 5, 90, 5, 2, 1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o Others
			o.Begin(0, 100)
			o.Observe(c.span, c.left, c.own, c.refill, c.unit, c.spilt)
			assert.InDelta(t, c.want, o.Rate, 1e-9)
		})
	}
	m := bucket(1)
	m.others.Rate = 1
	wait, _ := m.Wait(1, 1, 0, 2, false)
	assert.InDelta(t, 2/(1+pressed), wait, 0.01, "half of the refill is ours, and a little more")
	m.others.Rate = 1.8
	wait, _ = m.Wait(1, 1, 0, 2, false)
	assert.InDelta(t, 10/(1+pressed*pressedMost), wait, 0.05, "where others are many, no more than three times our part counts")
	m.others.Rate = -1
	wait, _ = m.Wait(1, 1, 0, 2, false)
	assert.InDelta(t, 1, wait, 0.01, "and no more than all of it")
	m.others.Rate = 5
	wait, _ = m.Wait(1, 1, 0, 2, false)
	assert.InDelta(t, 1/oursLeast/(1+pressed*pressedMost), wait, 0.01, "and a twentieth at least")
}

// What a provider reserves for calls is more than expected, and as much less, in turn.
func TestErrorsOfWhatCallsReserveEvenOut(t *testing.T) {
	for unit, want := range map[float64]float64{1: 1. / 3, 10: -1. / 3} {
		var o Others
		for i := range 101 {
			o.Begin(0, 1000)
			o.Observe(100, 1100-unit+100*float64(1-2*(i%2)), 0, 1, unit, false)
		}
		assert.InDelta(t, want, o.Rate, 1e-9, "%v", unit)
	}
}

func TestWhatAFullBucketLosesCountsUntilItIsTold(t *testing.T) {
	const gap = 0.25 // seconds between calls, in which a bucket of 3 calls is full again
	var m Mirror
	told := told(840, 2, 1./14)
	m.Observe(1, gap, 1, 1, told)
	wait, _ := m.Wait(3, 1, 7, 8, false)
	assert.Zero(t, wait)
	m.Observe(7, 7*gap, 6, 1, told)
	wait, _ = m.Wait(3, 1, 1, 8, false)
	assert.Zero(t, wait, "the call that is told of found the bucket full")
}

func TestWhatIsLostOfALimitThatFellIsNotWaitedFor(t *testing.T) {
	m := Mirror{}
	m.Observe(1, 0, 1, 1, told(60e6, 60e6-1, 0))
	m.Wait(600, 1, 5, 6, false)
	m.Observe(3, 0.1, 2, 1, told(60, 30, 30))
	wait, _ := m.Wait(601, 1, 3, 6, false)
	assert.LessOrEqual(t, wait, 60.)
}

func TestARefillIsMeasuredWhereAFewCallsAreMissing(t *testing.T) {
	for _, c := range []struct {
		missing, taken, reset float64
		want                  bool
	}{{800, 300, 10, false}, {1000, 300, 10, true}, {2, 0, 10, false}, {4, 0, 10, true}, {1000, 1, 0, false}} {
		m := Mirror{holds: true}
		told := told(6000, 6000-c.missing, c.reset)
		m.learnRefill(&told, c.taken)
		assert.Equal(t, c.want, m.refilled, "%v", c)
	}
}

func TestWhatIsComparedWithAReset(t *testing.T) {
	for name, c := range map[string]struct {
		before    Turn
		at, reset float64
		want      int
	}{
		"nothing, at first":            {Turn{}, 5, 20, 0},
		"nothing that is too long ago": {Turn{observed: 1, reset: 11, span: 10}, 100, 10, 0},
		"no reset is one of a bucket":  {Turn{observed: 1, reset: 1, span: 10}, 10, 0, -1},
	} {
		c.before.Observe(c.at, c.reset)
		assert.Equal(t, c.want, c.before.votes, name)
	}
}

// The moment of a turn is known to a fraction of a second.
func TestAWindowThatMovesALittleIsTheSame(t *testing.T) {
	m := Mirror{turn: Turn{At: 60, span: 60, votes: enough}}
	assert.InDelta(t, 180, m.turn.begins(200), 1e-9)
	assert.InDelta(t, 5, (&Turn{At: 1}).begins(5), leastTurn)
	m.Sent(5, 1)
	for _, at := range []float64{60.04, 61} {
		m.turn.At = at
		m.Sent(6, 1)
	}
	assert.InDelta(t, 3, m.used, 0)
	m.Sent(62, 1)
	assert.InDelta(t, 1, m.used, 0)
}
