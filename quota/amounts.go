package quota

import (
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/throttle"
)

// amounts is a cost by unit.
type amounts [throttle.Units]int64

func amountsOf(c throttle.Cost) (a amounts) {
	for u := range throttle.Units {
		a[u] = c.Of(u)
	}
	return a
}

// usedOf is amountsOf for a cost that was read from a response: each of its
// fields is clamped to 0..MaxAmount.
func usedOf(c throttle.Cost) amounts {
	for _, n := range []*int64{&c.Requests, &c.Tokens, &c.Input, &c.Output, &c.Points} {
		*n = min(max(*n, 0), throttle.MaxAmount)
	}
	return amountsOf(c)
}

// plain is w as package meter knows it.
func plain(w throttle.Window) meter.Window {
	m := meter.Window{Kind: meter.Kind(w.Kind()), Unit: uint8(w.Unit()), Max: w.Max(), Anchor: w.Anchor()}
	if w.Kind() == throttle.TokenBucket {
		m.Rate = w.Rate()
	} else {
		m.Per = w.Per()
	}
	return m
}
