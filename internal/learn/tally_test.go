package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// tallied sends calls with a tally, of 100 tokens each.
type tallied struct {
	Tally
	sent []Call
}

// send sends so many calls, the first of them step seconds after the last one.
func (s *tallied) send(calls int, step float64) (last Call) {
	for range calls {
		n := len(s.sent)
		c := Call{Seq: 1, Tokens: 100, Total: 100, At: step}
		if n > 0 {
			c = Call{Seq: int64(n + 1), Tokens: 100, Total: 100 * float64(n+1), At: s.sent[n-1].At + step}
		}
		s.sent = append(s.sent, c)
		s.Sent(c)
	}
	return s.sent[len(s.sent)-1]
}

// refuse refuses the calls with these numbers.
func (s *tallied) refuse(seqs ...int) {
	for _, seq := range seqs {
		s.Refused(s.sent[seq-1])
	}
}

// marked has sent 100 calls in 10 seconds, the last of which was refused.
func marked() *tallied {
	s := &tallied{}
	c := s.send(100, 0.1)
	s.refuse(100)
	s.Mark(c)
	return s
}

func TestTallyMeasuresFromMarkToMark(t *testing.T) {
	for name, c := range map[string]struct {
		calls        int
		step         float64
		refused      []int // besides the last one
		unused       float64
		wantC, wantT float64
		wantF        bool
	}{
		"what got through":       {calls: 101, step: 0.1, wantC: 100 / 10.1, wantT: 10000 / 10.1},
		"refusals before a mark": {calls: 101, step: 0.1, refused: []int{50, 60}, wantC: 100 / 10.1, wantT: 10000 / 10.1},
		"refusals cost, too":     {calls: 101, step: 0.1, refused: []int{110, 120}, wantC: 100 / 10.1, wantT: 10000 / 10.1},
		"at most as much again":  {calls: 22, step: 1, refused: []int{105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115}, wantC: 20.0 / 22, wantT: 2000.0 / 22},
		"tokens given back":      {calls: 101, step: 0.1, unused: 2500, wantC: 100 / 10.1, wantT: 7500 / 10.1},
		"more than there were":   {calls: 101, step: 0.1, unused: 1e6, wantC: 100 / 10.1, wantT: 0},
		"on a handful":           {calls: 10, step: 1, wantC: 1, wantT: 100, wantF: true},
		"no handful":             {calls: 11, step: 1, wantC: 10.0 / 11, wantT: 1000.0 / 11},
		"refusals only":          {calls: 3, step: 1, refused: []int{101, 102}, wantC: 2.0 / 3, wantT: 100.0 / 3, wantF: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := marked()
			last := s.send(c.calls, c.step)
			s.refuse(c.refused...)
			s.Refused(last)
			s.total.Ended += c.unused
			r := s.Measure(last, Doubt{}, 0)
			assert.InDelta(t, c.wantC, r.Calls, 1e-9)
			assert.InDelta(t, c.wantT, r.Tokens, 1e-6)
			assert.InDelta(t, float64(c.calls)*c.step, r.Span, 1e-9)
			assert.Equal(t, c.wantF, r.Few)
		})
	}
}

func TestTwoMarksAtOneMomentMeasureARateThatIsFinite(t *testing.T) {
	s := marked()
	c := s.send(2, 0)
	s.refuse(102)
	r := s.Measure(c, Doubt{}, 0)
	assert.InDelta(t, 2000, r.Calls, 1e-6)
	assert.InDelta(t, 200_000, r.Tokens, 1e-6)
}

func TestTallyBeginsAnewAtAMark(t *testing.T) {
	s := marked()
	s.Answered(s.sent[0], 40) // 60 given back before the mark
	s.send(50, 0.1)
	s.refuse(110, 120, 150)
	s.Mark(s.sent[149])
	last := s.send(41, 0.1)
	s.Refused(last)
	r := s.Measure(last, Doubt{}, 0)
	assert.InDelta(t, 40/4.1, r.Calls, 1e-9)
	assert.InDelta(t, 4000/4.1, r.Tokens, 1e-6)
}

func TestMarksOnAHandfulAreMeasuredTogether(t *testing.T) {
	s := marked()
	rate := func(calls int, step float64) float64 {
		c := s.send(calls, step)
		s.Refused(c)
		r := s.Measure(c, Doubt{}, 0)
		s.Mark(c)
		return r.Calls
	}
	assert.InDelta(t, 2.0/20, rate(2, 10), 1e-9, "one call, and one of doubt, in 20 seconds")
	assert.InDelta(t, 3.0/40, rate(2, 10), 1e-9, "two, with one of doubt, in 40")
	assert.InDelta(t, 4.0/60, rate(2, 10), 1e-9)
	assert.InDelta(t, 2.0/100, rate(2, 50), 1e-9, "a rate that falls is not held up by what it was")
	rate(101, 1)
	assert.InDelta(t, 2.0/20, rate(2, 10), 1e-9, "a mark on more calls ends it")
}

func TestMarksOnAHandfulAreForgottenByHalves(t *testing.T) {
	var few stretch
	for range 10 {
		few = few.plus(stretch{1, 100, 10})
	}
	assert.Equal(t, stretch{10, 1000, 100}, few)
	assert.Equal(t, stretch{6, 600, 60}, few.plus(stretch{1, 100, 10}))
}

func TestTallyTakesTheLastSeconds(t *testing.T) {
	for name, c := range map[string]struct {
		first, grown bool
		step         float64
		want         float64
	}{
		"of the first mark":         {first: true, step: 0.6, want: 0.95 / 0.6},
		"of a grown pace":           {grown: true, step: 0.6, want: 0.95 / 0.6},
		"if they have enough calls": {step: 0.1, want: 0.95 / 0.1},
		"but not of twenty":         {step: 0.25, want: 69.0 / 32.5},
		"nor of a handful":          {step: 0.6, want: 69.0 / 50},
	} {
		t.Run(name, func(t *testing.T) {
			s := &tallied{}
			s.send(20, 1)
			last := s.send(50, c.step)
			s.Refused(last)
			s.mark.At = 0 // as New begins
			r := s.Measure(last, Doubt{First: c.first, Grown: c.grown}, 0)
			assert.InDelta(t, c.want, r.Calls, 0.21, "the refused call is one of them")
			assert.InDelta(t, 100*c.want, r.Tokens, 21)
		})
	}
	t.Run("never less than the average", func(t *testing.T) {
		s := &tallied{}
		s.send(50, 0.1)
		last := s.send(20, 1)
		s.Refused(last)
		assert.InDelta(t, 69.0/25, s.Measure(last, Doubt{First: true}, 0).Calls, 1e-9)
	})
	t.Run("half a second at least", func(t *testing.T) {
		s := &tallied{}
		last := s.send(21, 0.001)
		s.Refused(last)
		r := s.Measure(last, Doubt{First: true}, 0)
		assert.Equal(t, 0.5, r.Span)
		assert.InDelta(t, 40, r.Calls, 1e-9)
	})
}

func TestTallyTakesTheWindowThatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		window, calls, tokens float64
	}{
		"it was full":  {10, 10, 1000},
		"a longer one": {40, (99 + 30*35/40.0) / 40, 100 * (99 + 30*35/40.0) / 40},
		"none":         {0, 0.95 * 49 / 5, 95 * 49 / 5.0},
	} {
		t.Run(name, func(t *testing.T) {
			s := marked()
			s.send(35, 40.0/35)
			last := s.send(100, 0.1)
			s.Refused(last)
			r := s.Measure(last, Doubt{}, c.window)
			assert.InDelta(t, c.calls, r.Calls, 0.11)
			assert.InDelta(t, c.tokens, r.Tokens, 11)
		})
	}
	t.Run("is no handful", func(t *testing.T) {
		s := marked()
		last := s.send(5, 0.5)
		s.Refused(last)
		r := s.Measure(last, Doubt{}, 5)
		assert.False(t, r.Few)
		assert.InDelta(t, (24+4)/5.0, r.Calls, 0.21)
	})
	t.Run("does not make a handful a measurement", func(t *testing.T) {
		s := marked()
		s.send(1, 20)
		last := s.send(6, 0.5)
		s.Refused(last)
		r := s.Measure(last, Doubt{}, 4)
		assert.True(t, r.Few)
		assert.InDelta(t, 5/4.0, r.Calls, 0.01)
	})
	t.Run("was full whatever came before", func(t *testing.T) {
		s := marked()
		s.send(100, 0.1)
		last := s.send(20, 1)
		s.Refused(last)
		assert.InDelta(t, 119/30.0, s.Measure(last, Doubt{}, 20).Calls, 1e-9, "never less than the average")
	})
}

func TestTallyTokensFollowTheCallsAtLeast(t *testing.T) {
	s := marked()
	for range 500 {
		s.Answered(Call{Tokens: 300}, 300) // larger ones had been under way
	}
	last := s.send(101, 0.1)
	s.Refused(last)
	assert.InDelta(t, 0.7*300*100/10.1, s.Measure(last, Doubt{}, 0).Tokens, 1e-3)
}

func TestTallyKnowsWhetherAnythingGotThrough(t *testing.T) {
	for name, c := range map[string]struct {
		calls   int // since the mark, a second apart, the last of them judged
		refused []int
		heard   float64 // seconds before the last one left, from which nothing has been heard
		want    bool
	}{
		"nothing was sent":      {calls: 1, refused: []int{101}},
		"one was taken":         {calls: 2, refused: []int{102}, want: true},
		"all were refused":      {calls: 3, refused: []int{101, 102, 103}},
		"one of them not":       {calls: 4, refused: []int{101, 103, 104}, want: true},
		"an older one has been": {calls: 4, refused: []int{104}, heard: 1.5, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := marked()
			last := s.send(c.calls, 1)
			s.refuse(c.refused...)
			assert.Equal(t, c.want, s.GotThrough(last, last.At-c.heard))
		})
	}
	t.Run("it may not be heard yet", func(t *testing.T) {
		s := &tallied{}
		last := s.send(2, 1)
		s.Refused(last)
		assert.False(t, s.GotThrough(last, 0.9))
		assert.True(t, s.GotThrough(last, 1.1))
		s.send(3, 0.1)
		assert.False(t, s.GotThrough(last, 0.9), "whatever was sent later")
	})
}

func TestTallyIgnoresLaterCalls(t *testing.T) {
	s := marked()
	c := s.send(101, 0.1)
	s.Refused(c)
	s.send(500, 0.001) // before the refusal arrives
	assert.InDelta(t, 100/10.1, s.Measure(c, Doubt{Grown: true}, 0).Calls, 1e-9)
	assert.InDelta(t, 10000/10.1, s.Measure(c, Doubt{}, 0).Tokens, 1e-6)
}

func TestTallyBeginsAtAnyNumber(t *testing.T) {
	var tally Tally
	old := Call{Seq: 1000, At: 1, Tokens: 100, Total: 5e6}
	assert.False(t, tally.Counts(old))
	for i := range int64(21) {
		tally.Sent(Call{Seq: 1001 + i, At: 2 + float64(i), Tokens: 100, Total: 5e6 + 100*float64(i+1)})
	}
	last := tally.last
	assert.False(t, tally.Counts(old), "it was under way before")
	assert.True(t, tally.Counts(Call{Seq: 1001}))
	tally.Refused(last)
	r := tally.Measure(last, Doubt{}, 0)
	assert.InDelta(t, 20.0/22, r.Calls, 1e-9)
	assert.InDelta(t, 2000.0/22, r.Tokens, 1e-6)
}

func TestTallyKnowsWhatEndedCallsUsed(t *testing.T) {
	s := &tallied{}
	s.send(10, 1)
	s.Answered(s.sent[0], 30)
	s.send(10, 1)
	s.Answered(s.sent[1], 160) // more than was reserved
	for from, want := range map[float64][3]float64{0: {2, 200, 190}, 10: {2, 200, 190}, 15: {1, 100, 160}} {
		reserved, used := s.Ended(from, 20)
		assert.InDelta(t, want[0], reserved.calls, 1e-9, "%v", from)
		assert.InDelta(t, want[1], reserved.tokens, 1e-9, "%v", from)
		assert.InDelta(t, want[2], used, 1e-9, "%v", from)
	}
}

// A bucket of ten, which was full after a pause of two seconds: what it let through since is ten more than came in.
func TestAnEarlyMarkMayMissWhatRanOver(t *testing.T) {
	for name, c := range map[string]struct {
		doubt  Doubt
		window float64
		want   float64
	}{
		"early":              {Doubt{Early: true}, 0, 20},
		"later":              {Doubt{}, 0, 12.5},
		"the first":          {Doubt{First: true, Early: true}, 0, 12.5},
		"counted in windows": {Doubt{Early: true}, 4, 12.5},
	} {
		t.Run(name, func(t *testing.T) {
			s := marked()
			s.send(1, 2)
			last := s.send(50, 0.04) // 25 calls a second: 5 of the bucket, and 20 that come in
			s.Refused(last)
			r := s.Measure(last, c.doubt, c.window)
			assert.InDelta(t, c.want, r.Calls, 1)
			assert.InDelta(t, 100*c.want, r.Tokens, 100)
		})
	}
}

func TestTheMixOfARateStays(t *testing.T) {
	assert.Equal(t, Rate{Calls: 20, Tokens: 600, Span: 9}, Rate{Calls: 10, Tokens: 300, Span: 9}.as(20))
}

// What was admitted in the last seconds counts if it is evidence by itself, or if what came before is doubtful.
func TestWhenTheLastSecondsCount(t *testing.T) {
	for name, c := range map[string]struct {
		late  int // calls in the last five seconds
		doubt Doubt
		want  bool
	}{
		"few":                      {20, Doubt{}, false},
		"enough":                   {40, Doubt{}, true},
		"few, after a full bucket": {20, Doubt{First: true}, true},
		"few, of a pace that grew": {20, Doubt{Grown: true}, true},
	} {
		var tally Tally
		seq := int64(0)
		send := func(at float64) (call Call) {
			seq++
			call = Call{Seq: seq, At: at}
			tally.Sent(call)
			return call
		}
		for i := range 20 {
			send(1 + float64(i))
		}
		for i := range c.late {
			send(35 + 4.9*float64(i)/float64(c.late))
		}
		last := send(40)
		tally.Refused(last)
		rate := tally.Measure(last, c.doubt, 0)
		assert.Equal(t, c.want, rate.Calls > 0.9*float64(c.late)/lately, name)
	}
}

// The calls of an idle night are few, and say nothing of the rate.
func TestSmallMeasurementsBeforeARestAreForgotten(t *testing.T) {
	for rested, want := range map[bool]stretch{false: {1, 100, 10}, true: {}} {
		r := runMachine(Config{CallRate: 1})
		r.Calls.rested = rested
		r.tally.next = stretch{1, 100, 10}
		r.cutPace(20, r.send(19), &Refusal{}, Rate{})
		assert.Equal(t, want, r.tally.few)
	}
}

func TestOneAnswerOfVeryManyTokensIsNotWhatCallsUse(t *testing.T) {
	var y Tally
	y.Answered(Call{Tokens: 100}, 1e6)
	assert.InDelta(t, callWeight*outlier*100, y.perCall, 1e-9)
	for range 100 {
		y.Answered(Call{Tokens: 100}, 1e4)
	}
	assert.InDelta(t, 1e4, y.perCall, 1e3, "if all are like that, it is")
	y = Tally{}
	y.Answered(Call{}, 50)
	assert.InDelta(t, callWeight*50, y.perCall, 1e-9, "a call may reserve none")
}

// A call that was not sent has cost no quota, unlike one that was rejected.
func TestCallsThatWereNotSentMeasureNothing(t *testing.T) {
	for name, doubt := range map[string]Doubt{"no doubt": {}, "rejections count": {Fined: true}} {
		var y Tally
		calls := make([]Call, 201)
		for i := range calls {
			calls[i] = Call{Seq: int64(i + 1), At: float64(i) / 10}
			y.Sent(calls[i])
		}
		for i := 1; i < 200; i += 2 {
			y.Unsent(calls[i])
		}
		y.Refused(calls[200])
		assert.InDelta(t, 5, y.Measure(calls[200], doubt, 0).Calls, 0.1, name)
	}
}
