package learn

const (
	othersOver  = lately  // seconds over which the use by others is measured, at least
	othersUnits = handful // and calls' worth of tokens that come in meanwhile: what a call reserves may differ from what is taken for it
)

// Others estimates what others take from the same bucket.
type Others struct {
	Rate float64 // units per second; below 0 they take none

	at, left, own float64 // of the span that is measured
	unit          float64 // of its largest call; 1 where calls are counted
	spilt         bool    // a full bucket spills, which looks like what others take
}

// Begin begins a span with so much left.
func (o *Others) Begin(at, left float64) {
	o.at, o.left, o.own, o.unit, o.spilt = at, left, 0, 0, false
}

// Observe takes in what was left at a moment, after we had used own more. unit is what the newest call took.
func (o *Others) Observe(at, left, own, refill, unit float64, spilt bool) {
	o.own += own
	o.unit = max(o.unit, unit)
	o.spilt = o.spilt || spilt
	span := at - o.at
	if span < othersOver || span*refill < othersUnits*(o.unit-1) {
		return
	}
	rate := (o.left + refill*span - left - o.own - o.unit) / span
	if o.unit == 1 { // calls are counted exactly, while errors of what they reserve even out
		rate = max(0, rate)
	}
	if o.spilt {
		rate = min(rate, o.Rate, max(0, refill-o.own/span))
	}
	o.Rate = max(-refill, min(refill, o.Rate+0.5*(rate-o.Rate)))
	o.Begin(at, left)
}
