package learn

// Tally counts what was sent, and what of it was refused, and measures the
// rate between two marks. A mark is a refused call: the provider's bucket was empty
// when it came. What was admitted from one mark to the next is what came into
// the bucket in between, and its rate is the limit.
type Tally struct {
	last    Call  // the newest
	total   Point // by then
	mark    Call
	marked  Point   // the total by the mark
	dark    float64 // seconds since the mark during which no call was admitted
	refused float64 // since the mark, the one that is measured included
	unsent  float64 // likewise calls that were not sent after all
	lost    float64 // their tokens
	history History
	fates   Fates
	perCall float64 // tokens that a call really takes, smoothed
	begun   bool
	start   float64 // when the first call left that is measured
	before  float64 // calls that were admitted before it
	rested  bool    // there are some, but a pause in demand followed
	base    int64   // the last call before it began
	few     stretch // of the marks before this one, back to the last that was not on a handful of calls
	next    stretch // few after the next mark
}

// stretch is what was admitted in some seconds. Half of it is forgotten when it has a handful of
// calls: the one token of doubt then weighs little, and the limit may have changed.
type stretch struct{ calls, tokens, span float64 }

func (s stretch) plus(o stretch) stretch {
	keep := 1.0
	if s.calls >= handful {
		keep = 0.5
	}
	return stretch{keep*s.calls + o.calls, keep*s.tokens + o.tokens, keep*s.span + o.span}
}

// Rate is what was measured.
type Rate struct {
	Calls, Tokens float64 // per second
	Span          float64 // seconds since the mark
	Few           bool    // on a handful of calls
}

// as is the same mix of calls and tokens at so many calls per second.
func (r Rate) as(calls float64) Rate {
	r.Tokens *= calls / max(r.Calls, leastRate)
	r.Calls = calls
	return r
}

// atLeast is r, or the same mix at so many calls per second if those are more.
func (r Rate) atLeast(calls float64) Rate {
	if calls > r.Calls {
		return r.as(calls)
	}
	return r
}

const (
	handful = 10 // calls: among fewer, the one that was refused matters, and a bucket may have held them all
	lately  = 5  // seconds that show what is admitted now: the bucket may have run over earlier
)

const (
	nextStretch = 1 / spanAlike // of a stretch of time: the next shorter one that is looked at, which is not alike
	cautious    = 1 - sameLevel // of what was admitted lately: the rate is the same, and no lower
	exactFrom   = recent        // calls since the mark: of more, it is known exactly whether one got through
	markedFor   = cycleShortest // seconds of small measurements under a cap: the bucket was empty at each, so that its rate is known
	latelyCalls = recent        // calls: what was admitted lately is evidence by itself
	tokensLeast = memoryFell    // of the tokens that the measured calls usually take: a measurement is no lower
)

// Sent notes a call, and those between the last one and it.
func (t *Tally) Sent(c Call) {
	if !t.begun { // a limiter that was used before begins at another number
		t.begun = true
		t.start = c.At
		t.base = c.Seq - 1
		t.last = Call{Seq: t.base, Total: c.Total - c.Tokens}
		t.mark = t.last
	}
	t.total.At = c.At
	t.total.Calls += float64(c.Seq - t.last.Seq)
	t.total.Tokens += c.Total - t.last.Total
	t.last = c
	t.fates.Sent(c)
	t.history.Add(t.total)
}

// Restart has nothing before now be measured.
func (t *Tally) Restart(now float64) {
	if !t.begun {
		return
	}
	t.start, t.before, t.rested = now, t.total.Calls, true
	t.Mark(Call{Seq: t.last.Seq, At: now, Total: t.last.Total})
}

// sinceStart is how many calls were admitted since the start.
func (t *Tally) sinceStart() float64 { return t.total.Calls - t.before }

// Counts reports whether the call was sent since the tally began, which is not
// so of calls that were on their way before.
func (t *Tally) Counts(c Call) bool { return t.begun && c.Seq > t.base }

// Answered notes what a call really used.
func (t *Tally) Answered(c Call, used float64) {
	usual := used
	if most := outlier * max(c.Tokens, t.perCall); most > 0 {
		usual = min(usual, most)
	}
	t.perCall += callWeight * (usual - t.perCall)
	t.total.Ends++
	t.total.Ended += c.Tokens
	t.total.Used += used
}

// Refused notes that a call was refused.
func (t *Tally) Refused(c Call) { t.notAdmitted(c, &t.refused) }

// Unsent notes that a call was not sent after all.
func (t *Tally) Unsent(c Call) { t.notAdmitted(c, &t.unsent) }

func (t *Tally) notAdmitted(c Call, since *float64) {
	t.total.Calls--
	t.total.Tokens -= c.Tokens
	t.fates.Refused(c.Seq)
	if c.Seq > t.mark.Seq {
		*since++
		t.lost += c.Tokens
	}
}

// Mark begins anew at a refused call.
func (t *Tally) Mark(c Call) {
	t.mark, t.marked = c, t.total
	t.dark, t.refused, t.unsent, t.lost = 0, 0, 0, 0
	t.few, t.next = t.next, stretch{}
}

// GotThrough reports whether any call sent between the mark and the refused call c succeeded: its refusal would have been
// received by the moment heard. Of a few calls it is an estimate, which may miss one: with the exact answer for
// these, too, 22 % of the attempts were rejected in a silent minute.
func (t *Tally) GotThrough(c Call, heard float64) bool {
	if passed, known := t.fates.Passed(t.mark.Seq, c.Seq, heard); known && c.Seq-t.mark.Seq > exactFrom {
		return passed
	}
	young := t.history.Since(heard, t.total).Calls
	young = max(0, young-float64(t.last.Seq-c.Seq))
	return float64(c.Seq-t.mark.Seq-1)-(t.refused-1)-t.unsent-young >= 0.5
}

// Until is the rate from the mark to a moment after which nothing was admitted.
func (t *Tally) Until(at float64) float64 {
	return max(0, float64(t.last.Seq-t.mark.Seq)-t.refused-t.unsent) / max(tiny, at-t.mark.At)
}

// Doubt is what makes the time since the mark a poor measure of the rate.
type Doubt struct {
	First bool // there was no mark before: the bucket may have been full
	Grown bool // the pace was far from the rate that was known: the bucket may have run over
	Fined bool // rejections have cost quota, too
	Early bool // there were few marks before: the bucket is likely to have run over
}

// Measure is the rate from the mark to the refused call c. Without a doubt, the last seconds count
// if they have enough calls to be evidence. window is the length of the provider's window, 0 if none is known.
func (t *Tally) Measure(c Call, doubt Doubt, window float64) Rate {
	doubt.First = doubt.First && t.few.span < markedFor
	got, used := t.sinceMark(c, doubt)
	r := t.average(c, doubt, got)
	if window > 0 {
		r = t.inWindow(c, r, window)
	} else {
		r = t.atLeastLately(c, r, doubt, used)
		if doubt.Early && !doubt.First {
			r = r.atLeast(t.least(c, got.span))
		}
	}
	r.Tokens = max(r.Tokens, tokensLeast*r.Calls*t.perCall)
	return r
}

// sinceMark is what was admitted from the mark to the refused call c, and the share of the reserved tokens that this used.
func (t *Tally) sinceMark(c Call, doubt Doubt) (got stretch, used float64) {
	span := max(tiny, c.At-t.mark.At)
	calls := max(1, float64(c.Seq-t.mark.Seq-1)-(t.refused-1)-t.unsent)
	switch {
	case doubt.First && t.rested && calls < handful: // it is hardly a measurement
		span = max(span, interruption)
	case doubt.First:
		span = max(span, shortest)
	}
	gross := c.Total - c.Tokens - t.mark.Total
	tokens := max(0, gross-(t.lost-c.Tokens)-(t.total.unused()-t.marked.unused()))
	if doubt.Fined {
		calls, tokens = calls+t.refused-1, tokens*(1+(t.refused-1)/calls)
	}
	used = 1
	if gross > 0 {
		used = min(1, tokens/gross)
	}
	return stretch{calls, tokens, span}, used
}

// average is the mean rate of what was admitted since the mark. A small measurement is combined with earlier ones.
func (t *Tally) average(c Call, doubt Doubt, got stretch) Rate {
	r := Rate{Calls: got.calls / got.span, Tokens: got.tokens / got.span, Span: got.span, Few: got.calls < handful}
	t.next = stretch{}
	switch {
	case r.Few:
		r.Calls, r.Tokens = (got.calls+1)/got.span, (got.tokens+c.Tokens)/got.span // one token of doubt
		if !doubt.First {
			t.next = t.few.plus(got)
			r.Calls = min(r.Calls, (t.next.calls+1)/t.next.span)
			r.Tokens = min(r.Tokens, (t.next.tokens+c.Tokens)/t.next.span)
		}
	case !doubt.Fined: // refusals may have cost quota, too; too high corrects itself at the next mark, too low does not
		more := 1 + min(1, (t.refused-1)/got.calls)
		r.Calls, r.Tokens = r.Calls*more, r.Tokens*more
	}
	return r
}

// inWindow raises r to what was admitted in the window before c: it was full when it refused, whatever the pace had been before.
func (t *Tally) inWindow(c Call, r Rate, window float64) Rate {
	got := t.since(c, window).Calls
	if got/window > r.Calls {
		r = r.as(got / window)
		r.Few = r.Few && got < handful
	}
	return r
}

// atLeastLately raises r to about what was admitted in the last seconds before c, if that is evidence. used is the share of the reserved
// tokens that was used.
func (t *Tally) atLeastLately(c Call, r Rate, doubt Doubt, used float64) Rate {
	lately := min(lately, r.Span)
	got := t.since(c, lately)
	if !doubt.First && !doubt.Grown && got.Calls < latelyCalls {
		return r
	}
	r.Calls = max(r.Calls, cautious*got.Calls/lately)
	r.Tokens = max(r.Tokens, cautious*(got.Tokens*used)/lately)
	return r
}

// least is the lowest rate at which a bucket of leastBucket calls admits what was sent in any stretch of the span before c.
func (t *Tally) least(c Call, span float64) (rate float64) {
	for ; span >= shortest; span *= nextStretch {
		rate = max(rate, (t.since(c, span).Calls-leastBucket)/span)
	}
	return rate
}

// each is how many tokens a call used, on average.
func (t *Tally) each() float64 { return (t.total.Tokens - t.total.unused()) / max(1, t.total.Calls) }

// since is what was admitted in the seconds before c left.
func (t *Tally) since(c Call, seconds float64) Point {
	by := t.total
	by.At = c.At
	by.Calls -= float64(t.last.Seq - c.Seq)
	by.Tokens -= t.last.Total - c.Total
	return t.history.Since(c.At-seconds, by)
}

// Ended is what was reserved for calls that have ended since the moment from, and what they used.
func (t *Tally) Ended(from, now float64) (reserved Amount, used float64) {
	by := t.total
	by.At = now
	p := t.history.Since(from, by)
	return Amount{p.Ends, p.Ended}, p.Used
}
