package learn

import "math"

// Charge estimates how many tokens the provider reserves for each token that a call reserves here, which is an estimate of its
// own. It compares what the headers show to be gone with what has been reserved meanwhile, less that of calls that have ended.
type Charge struct {
	square, product float64 // smoothed sums: of what was reserved, squared, and times what was gone
	call            float64 // what a call reserves, squared and smoothed
}

const (
	chargeMost   = several      // times what a call reserves, or a part of it, that the provider reserves, at most
	chargeDoubt  = handful      // calls by whose weight what is seen has to outweigh that the provider reserves as much
	chargeWeight = 1.0 / memory // of the newest observation
)

// Observe takes in an answer. reserved is what has been reserved since the answer before, less that of calls that have ended.
// gone is how much less is left, apart from what came in and what those calls used. tokens is what this call reserves.
func (c *Charge) Observe(reserved, gone, tokens float64) {
	most := chargeMost * math.Abs(reserved) // more is gone, or has come back, for another reason: the limit has changed
	gone = min(max(gone, -most), most)
	c.call += smoothing * (tokens*tokens - c.call)
	c.square += reserved*reserved - chargeWeight*c.square
	c.product += reserved*gone - chargeWeight*c.product
}

// Of is what the provider reserves for n.
func (c *Charge) Of(n float64) float64 {
	doubt := chargeDoubt * c.call
	if doubt == 0 {
		return n
	}
	return n * min(chargeMost, max(1.0/chargeMost, (c.product+doubt)/(c.square+doubt)))
}
