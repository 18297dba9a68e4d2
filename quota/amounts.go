package quota

import (
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/throttle"
)

// amounts is a cost by unit.
type amounts [throttle.Units]int64

// amountsOf applies the defaults of a cost, which only two of its fields have.
func amountsOf(c throttle.Cost) amounts {
	return amounts{
		throttle.Requests: c.Of(throttle.Requests), throttle.Tokens: c.Of(throttle.Tokens),
		throttle.InputTokens: c.Input, throttle.OutputTokens: c.Output, throttle.Points: c.Points,
	}
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
