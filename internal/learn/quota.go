package learn

// Quota is what the headers say is left, of calls and of tokens.
type Quota struct {
	Blind  bool
	Calls  Mirror
	Tokens Mirror

	last      Call
	total     float64 // tokens reserved by the call Tokens.Seq
	charge    Charge
	uncharged Uncharged
	draft     Overdraft
	off       Rules
}

const plenty = 0.75 // of a full bucket: a pace that leaves so much is too low

// Sent notes a call.
func (q *Quota) Sent(c Call) {
	q.last = c
	q.Calls.Sent(c.At, 1)
	q.Tokens.Sent(c.At, 0) // what it reserves is not what it uses
	q.Calls.part.Take(c.At, 1)
	q.Tokens.part.Take(c.At, c.Tokens)
	q.draft.Sent()
}

// Refused notes that a call used up nothing.
func (q *Quota) Refused(c Call) { q.uncharged.Add(c.Seq, c.Tokens) }

// Unsent notes that a call was not sent after all.
func (q *Quota) Unsent(c Call) {
	q.Refused(c)
	q.Calls.part.Return(1)
	q.Tokens.part.Return(c.Tokens)
}

// Observe applies what the response to c declared. taken is 0 for a refusal, else 1. It reports whether what earlier ones declared
// is too old, and whether it was about another limit, so that this one is learned anew.
func (q *Quota) Observe(now float64, c Call, taken float64, calls, tokens Told, t *Tally) (stale, anew bool) {
	if q.Blind {
		return false, false
	}
	if !calls.Known && taken > 0 {
		stale = q.Calls.Expire(c.At)
	}
	if !tokens.Known && taken > 0 {
		stale = q.Tokens.Expire(c.At) || stale
	}
	q.Calls.NoteFull(taken, calls)
	q.Tokens.NoteFull(taken*c.Tokens, tokens)
	if calls.Known && c.Seq > q.Calls.Seq {
		gone, _ := q.uncharged.Between(q.Calls.Seq, c.Seq)
		q.Calls.part.Begin(calls.Remaining, float64(q.last.Seq-c.Seq))
		anew = q.Calls.Observe(c.Seq, c.At, float64(c.Seq-q.Calls.Seq)-gone, taken, calls)
	}
	if tokens.Known && c.Seq > q.Tokens.Seq {
		reserved, ended, used := q.sinceHeader(c, now, t)
		later, laterUsed := t.Ended(c.At, now)
		ended, used = ended.less(later), used-laterUsed
		if left, full := q.Tokens.before(c.At); left+q.back(ended, used) < full {
			q.charge.Observe(reserved.less(ended), left-used-tokens.Remaining, c.Tokens)
		}
		q.Tokens.part.Begin(tokens.Remaining, q.last.Total-c.Total)
		own := q.charge.Of(reserved) - q.back(ended, used)
		anew = q.Tokens.Observe(c.Seq, c.At, own, taken*q.charge.Of(Amount{1, c.Tokens}), tokens) || anew
		q.total = c.Total
	}
	return stale, anew
}

// sinceHeader is what was reserved after the call Tokens.Seq up to and with c, and not refused, and what of it and of earlier
// calls has ended.
func (q *Quota) sinceHeader(c Call, now float64, t *Tally) (reserved, ended Amount, used float64) {
	refused, gone := q.uncharged.Between(q.Tokens.Seq, c.Seq)
	ended, used = t.Ended(q.Tokens.at, now)
	return Amount{float64(c.Seq-q.Tokens.Seq) - refused, c.Total - q.total - gone}, ended, used
}

// back is what the provider has given back at the end of calls that used so much of what they reserved.
func (q *Quota) back(ended Amount, used float64) float64 { return max(0, q.charge.Of(ended)-used) }

// Known reports whether any header has declared a quota.
func (q *Quota) Known() bool { return q.Calls.Known || q.Tokens.Known }

// unspent is of which units the paces have saved what a call takes: quota that is not used yet is there from the start of a
// preset.
type unspent struct{ calls, tokens bool }

type quotaWait struct {
	wait   float64
	room   bool // for a faster pace of calls
	calls  bool // the headers alone decide about calls: no pace does
	tokens bool // and about tokens
	tests  bool // a test begins whether more calls are taken than the headers leave room for
}

// wait is how long the headers hold back a call of so many tokens.
func (q *Quota) wait(now, tokens float64, s unspent, t *Tally) (w quotaWait) {
	if q.off.Has(MirrorRule) {
		return w
	}
	longer, other := hold{m: &q.Calls, of: OfCalls, n: 1}, hold{m: &q.Tokens, of: OfTokens, n: q.charge.Of(Amount{1, tokens})}
	if q.Calls.Known {
		w.calls = q.Calls.part.On()
		w.room = q.holdCalls(now, &longer, s.calls) && !w.calls // a part of what is left is no reason for more
	}
	if q.Tokens.Known {
		left := q.holdTokens(now, &other, s.tokens, t)
		w.tokens = left || q.Tokens.turn.Windowed() || q.Tokens.part.On()
	}
	if other.wait > longer.wait {
		longer, other = other, longer
	}
	w.wait = longer.wait
	testable := w.wait > draftIdle || w.wait > 0 && !longer.m.part.On()
	if testable && !q.off.Has(TrustRule) {
		w.wait, w.tests = q.draft.Wait(now, longer, q.last)
	}
	if w.wait < longer.wait && other.wait > draftIdle { // a test is none if the other unit holds the call back for long, too
		other.wait = max(w.wait, q.last.At+draftIdle-now)
	}
	w.wait = max(w.wait, other.wait)
	return w
}

// holdCalls finds out how long the headers about calls hold one back, and reports whether they show plenty left. saved is whether the
// pace has saved it.
func (q *Quota) holdCalls(now float64, h *hold, saved bool) (plentiful bool) {
	gone, _ := q.uncharged.Between(h.m.Seq, q.last.Seq)
	h.own = float64(q.last.Seq-h.m.Seq) - gone
	h.wait, plentiful = h.m.Wait(now, h.n, h.own, q.last.Seq, saved)
	return plentiful
}

// holdTokens does the same for tokens.
func (q *Quota) holdTokens(now float64, h *hold, saved bool, t *Tally) (plentiful bool) {
	reserved, ended, used := q.sinceHeader(q.last, now, t)
	h.own = q.charge.Of(reserved) - q.back(ended, used)
	h.wait, plentiful = h.m.Wait(now, h.n, h.own, q.last.Seq, saved)
	return plentiful
}

// exceeded reports whether clearly more of what the last test was about has been taken in the last quarter of an hour than the headers
// left room for.
func (q *Quota) exceeded(now float64, t *Tally) bool {
	if q.draft.of == OfTokens {
		_, used := t.Ended(now-remembered, now)
		return q.Tokens.exceeded(used)
	}
	last := t.last
	last.At = now
	return q.Calls.exceeded(t.since(last, remembered).Calls)
}
