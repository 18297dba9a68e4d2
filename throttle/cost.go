package throttle

// MaxAmount is the largest amount of one unit that a single call may cost and
// the largest Max of a window: 2^40, about 1.1e12. It keeps sums from overflowing.
const MaxAmount = 1 << 40

// Cost is what one call takes from the windows: an amount of each unit. The
// zero Cost is one request and nothing else.
type Cost struct {
	Requests int64 // 0 means 1
	Tokens   int64 // 0 means Input + Output
	Input    int64 // prompt tokens
	Output   int64 // generated tokens
	Points   int64 // anything else a provider weighs
}

// Of returns the amount of u, with the defaults of the fields applied. An
// unknown unit costs nothing.
func (c Cost) Of(u Unit) int64 {
	switch u {
	case Requests:
		if c.Requests == 0 {
			return 1
		}
		return c.Requests
	case Tokens:
		if c.Tokens == 0 {
			return c.Input + c.Output
		}
		return c.Tokens
	case InputTokens:
		return c.Input
	case OutputTokens:
		return c.Output
	case Points:
		return c.Points
	case Units:
	}
	return 0
}

// plus adds d with its defaults applied, so that a running sum of zero costs counts requests.
func (c Cost) plus(d Cost) Cost {
	return Cost{
		Requests: c.Requests + d.Of(Requests),
		Tokens:   c.Tokens + d.Of(Tokens),
		Input:    c.Input + d.Input,
		Output:   c.Output + d.Output,
		Points:   c.Points + d.Points,
	}
}

// clamped limits every amount to 0..MaxAmount: what a call really used is
// taken from a response, and nonsense there must not break the books.
func (c Cost) clamped() Cost {
	clamp := func(n int64) int64 { return min(max(n, 0), MaxAmount) }
	return Cost{clamp(c.Requests), clamp(c.Tokens), clamp(c.Input), clamp(c.Output), clamp(c.Points)}
}
