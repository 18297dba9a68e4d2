package learn

import "math"

// Charge estimates how many tokens the provider reserves for calls: so many for each call, and so many for each token that it
// reserves here, which is an estimate of its own. It compares what the headers show to be gone with what has been reserved
// meanwhile, less that of calls that have ended.
type Charge struct {
	calls, square, both float64 // smoothed sums of calls squared, of what was reserved squared, and of one times the other
	more, product       float64 // smoothed sums of calls, and of what was reserved, times what was gone beyond that
	call                float64 // what a call reserves, squared and smoothed
}

// Amount is so many calls, and the tokens that are reserved for them here.
type Amount struct{ calls, tokens float64 }

func (a Amount) less(b Amount) Amount { return Amount{a.calls - b.calls, a.tokens - b.tokens} }

const (
	chargeMost   = several      // times what a call reserves, or a part of it, that the provider reserves, at most
	chargeDoubt  = handful      // calls by whose weight what is seen has to outweigh that the provider reserves as much
	chargeWeight = 1.0 / memory // of the newest observation
)

// Observe takes in an answer. reserved is what has been reserved since the answer before, less that of calls that have ended.
// gone is how much less is left, apart from what came in and what those calls used. tokens is what this call reserves.
func (c *Charge) Observe(reserved Amount, gone, tokens float64) {
	most := chargeMost * math.Abs(reserved.tokens) // more is gone, or has come back, for another reason: the limit has changed
	more := min(max(gone, -most), most) - reserved.tokens
	c.call += smoothing * (tokens*tokens - c.call)
	c.calls += reserved.calls*reserved.calls - chargeWeight*c.calls
	c.square += reserved.tokens*reserved.tokens - chargeWeight*c.square
	c.both += reserved.calls*reserved.tokens - chargeWeight*c.both
	c.more += reserved.calls*more - chargeWeight*c.more
	c.product += reserved.tokens*more - chargeWeight*c.product
}

// Of is what the provider reserves for a: least squares, with chargeDoubt calls for which it reserves as much.
func (c *Charge) Of(a Amount) float64 {
	if c.call == 0 {
		return a.tokens
	}
	calls, square := c.calls+chargeDoubt, c.square+chargeDoubt*c.call
	det := calls*square - c.both*c.both
	each, share := (square*c.more-c.both*c.product)/det, (calls*c.product-c.both*c.more)/det
	return min(chargeMost*a.tokens, max(a.tokens/chargeMost, a.tokens+each*a.calls+share*a.tokens))
}
