package throttle

// MaxAmount is the largest amount of a unit in a Cost, and the largest Max of a
// window: 2^40, so sums do not overflow.
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

// Of returns the amount of u, with the defaults applied; 0 for an unknown unit.
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
	case Units: // their number
	}
	return 0
}

// clamped limits every amount to 0..MaxAmount: what a call really used is
// taken from a response, and nonsense there must not break the books.
func (c Cost) clamped() Cost {
	clamp := func(n int64) int64 { return min(max(n, 0), MaxAmount) }
	return Cost{clamp(c.Requests), clamp(c.Tokens), clamp(c.Input), clamp(c.Output), clamp(c.Points)}
}

// load is what one call weighs: its cost as given, and by unit.
type load struct {
	cost Cost
	of   amounts
}

func (n *load) set(c *Cost) {
	copyCost(&n.cost, c)
	n.of.set(c)
}

// copyCost goes field by field: what was just stored in words and is then
// copied in larger pieces has the processor wait for its own stores.
func copyCost(to, from *Cost) {
	to.Requests, to.Tokens, to.Input, to.Output, to.Points = from.Requests, from.Tokens, from.Input, from.Output, from.Points
}

// amounts is a Cost with its defaults applied, by unit.
type amounts [Units]int64

func (c Cost) amounts() (a amounts) {
	a.set(&c)
	return a
}

func (a *amounts) set(c *Cost) {
	a[Requests], a[Tokens], a[InputTokens], a[OutputTokens], a[Points] = c.Requests, c.Tokens, c.Input, c.Output, c.Points
	if c.Requests == 0 {
		a[Requests] = 1
	}
	if c.Tokens == 0 {
		a[Tokens] = c.Input + c.Output
	}
}

// copy is as copyCost.
func (a *amounts) copy(b *amounts) {
	a[0], a[1], a[2], a[3], a[4] = b[0], b[1], b[2], b[3], b[4]
}

func (a *amounts) cost() Cost {
	return Cost{a[Requests], a[Tokens], a[InputTokens], a[OutputTokens], a[Points]}
}

func (a *amounts) add(b *amounts) {
	a[0] += b[0]
	a[1] += b[1]
	a[2] += b[2]
	a[3] += b[3]
	a[4] += b[4]
}

func (a *amounts) subtract(b *amounts) {
	a[0] -= b[0]
	a[1] -= b[1]
	a[2] -= b[2]
	a[3] -= b[3]
	a[4] -= b[4]
}

// within reports whether no amount is negative or above that of most. A
// negative one is a very large one when it is read without a sign.
func (a *amounts) within(most *[Units]uint64) bool {
	return uint64(a[0]) <= most[0] && uint64(a[1]) <= most[1] && uint64(a[2]) <= most[2] && //nolint:gosec // see above
		uint64(a[3]) <= most[3] && uint64(a[4]) <= most[4] //nolint:gosec // see above
}
