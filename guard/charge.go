package guard

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// charge completes what the attempt cost: the weight of the call for each request
// that was written on the wire, other units as reported, else as reserved for each request. No unit is
// charged more than one window holds: a number in a response must not stop
// calls for hours.
func (c *Call) charge(k *attempt, f *adaptive.Feedback) {
	n := k.wire.got.Load()
	if f.Used == (throttle.Cost{}) { // nothing was reported
		if f.Used = c.cost; n > 1 {
			f.Used = times(c.cost, n)
		}
	} else {
		clamp(&f.Used)
		if f.Used.Requests == 0 { // a response reports tokens, and not what the call weighs
			f.Used.Requests = max(c.cost.Requests, 1) * max(n, 1)
		}
		f.Used.Requests = max(f.Used.Requests, n)
		if f.Used.Points == 0 { // nor these
			f.Used.Points = c.cost.Points
		}
	}
	if f.Used == c.cost {
		return
	}
	for _, l := range c.guard.layers {
		l.current.Load().bound(&f.Used, &c.cost)
	}
}

// clamp limits every amount to what a cost can be, so that no sum of them
// overflows.
func clamp(c *throttle.Cost) {
	for _, n := range [...]*int64{&c.Requests, &c.Tokens, &c.Input, &c.Output, &c.Points} {
		*n = min(max(*n, 0), throttle.MaxAmount)
	}
}

// times is what n requests of cost c cost.
func times(c throttle.Cost, n int64) throttle.Cost {
	return throttle.Cost{
		Requests: max(1, c.Requests) * n, Tokens: c.Tokens * n, Input: c.Input * n, Output: c.Output * n, Points: c.Points * n,
	}
}

// bound limits each unit of used to what the smallest window of it holds, or to
// what was reserved, if that is more.
func (c *compiled) bound(used, reserved *throttle.Cost) {
	for _, windows := range [...][]throttle.Window{c.limits.Windows, c.profile.Limits.Windows} {
		for _, w := range windows {
			most := max(w.Max(), reserved.Of(w.Unit()))
			switch w.Unit() {
			case throttle.Requests:
				used.Requests = min(used.Requests, most)
			case throttle.Tokens:
				if used.Tokens = min(used.Tokens, most); used.Input+used.Output > most {
					used.Tokens = most
				}
			case throttle.InputTokens:
				used.Input = min(used.Input, most)
			case throttle.OutputTokens:
				used.Output = min(used.Output, most)
			case throttle.Points:
				used.Points = min(used.Points, most)
			case throttle.Units: // their number
			}
		}
	}
}
