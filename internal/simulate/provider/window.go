package provider

import "time"

// window counts calls in fixed windows.
type window struct {
	most     int
	per      time.Duration
	turn     time.Duration // when one ends
	floating bool          // a window begins with its first call
	end      time.Duration // of the current one
	count    int
}

// look begins a new window if the current one is over.
func (w *window) look(now time.Duration) {
	if now < w.end {
		return
	}
	w.count = 0
	switch {
	case !w.floating:
		w.end = now + w.per - (now+w.per-w.turn)%w.per
	default:
		w.end = now // until a call begins it
	}
}

func (w *window) wait(now time.Duration) time.Duration {
	w.look(now)
	if w.count < w.most {
		return 0
	}
	return w.end - now
}

func (w *window) take(now time.Duration) {
	w.look(now)
	if w.floating && w.count == 0 {
		w.end = now + w.per
	}
	w.count++
}

func (w *window) fine(now time.Duration, _ float64) { w.take(now) }

// fewest is what a window never falls below.
const fewest = 5

func (w *window) scale(_ time.Duration, factor float64) {
	w.most = int(max(fewest, float64(w.most)*factor))
}

func (w *window) meter(now time.Duration) Meter {
	w.look(now)
	return Meter{Known: true, Limit: int64(w.most), Remaining: int64(max(0, w.most-w.count)), Reset: max(0, w.end-now)}
}
