// Package tally converts limits and costs of package throttle to what package
// meter counts, and back. The stores of package quota share it.
package tally

import (
	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/throttle"
)

var _ = meter.Amounts([throttle.Units]int64{}) // there are as many units

// Amounts applies the defaults of a cost, which only two of its fields have.
func Amounts(c throttle.Cost) meter.Amounts {
	return meter.Amounts{
		throttle.Requests: c.Of(throttle.Requests), throttle.Tokens: c.Of(throttle.Tokens),
		throttle.InputTokens: c.Input, throttle.OutputTokens: c.Output, throttle.Points: c.Points,
	}
}

// Used is Amounts for a cost that was read from a response: each of its fields
// is clamped to 0..MaxAmount.
func Used(c throttle.Cost) meter.Amounts {
	for _, n := range []*int64{&c.Requests, &c.Tokens, &c.Input, &c.Output, &c.Points} {
		*n = min(max(*n, 0), throttle.MaxAmount)
	}
	return Amounts(c)
}

// Less returns how much less was used than reserved; negative if more was.
func Less(reserved, used meter.Amounts) meter.Amounts {
	for u := range reserved {
		reserved[u] -= used[u]
	}
	return reserved
}

// Windows returns the windows as package meter knows them.
func Windows(of []throttle.Window) []meter.Window {
	windows := make([]meter.Window, len(of))
	for i, w := range of {
		windows[i] = meter.Window{Kind: meter.Kind(w.Kind()), Unit: uint8(w.Unit()), Max: w.Max(), Anchor: w.Anchor()}
		if w.Kind() == throttle.TokenBucket {
			windows[i].Rate = w.Rate()
		} else {
			windows[i].Per = w.Per()
		}
	}
	return windows
}

// Limits is the inverse of Windows.
func Limits(concurrency int, gauges meter.Gauges) throttle.Limits {
	l := throttle.Limits{Concurrency: concurrency}
	for i := range gauges {
		g := &gauges[i]
		w := throttle.Fixed(g.Max, g.Per, g.Anchor)
		switch g.Kind {
		case meter.SlidingWindow:
			w = throttle.Sliding(g.Max, g.Per)
		case meter.TokenBucket:
			w = throttle.Bucket(g.Rate, g.Max)
		case meter.CalendarWindow:
		}
		l.Windows = append(l.Windows, w.Of(throttle.Unit(g.Unit)))
	}
	return l
}

// Uses returns how much of the windows, which the gauges count, is taken.
func Uses(now meter.Instant, windows []throttle.Window, gauges meter.Gauges) []throttle.WindowUse {
	uses := make([]throttle.WindowUse, 0, len(gauges))
	for i := range gauges {
		g := &gauges[i]
		spent := g.Spent(now)
		frees, resets := g.Frees(now)
		uses = append(uses, throttle.WindowUse{Window: windows[i], Spent: spent, Left: g.Max - spent, FreesIn: frees, ResetsIn: resets})
	}
	return uses
}

// Bound returns b in the terms of throttle. The limits are those of the demand that b names.
func Bound(b meter.Bound, limits throttle.Limits) throttle.Bound {
	switch b.Kind {
	case meter.ByWindow:
		return throttle.Bound{Kind: throttle.BoundByWindow, Window: limits.Windows[b.Window], Wait: b.Wait}
	case meter.ByPause:
		return throttle.Bound{Kind: throttle.BoundByPause, Wait: b.Wait}
	case meter.BySlot:
		return throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: b.Wait}
	case meter.NotBound:
	}
	return throttle.Bound{}
}
