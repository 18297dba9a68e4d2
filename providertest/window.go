package providertest

import "time"

// window is the state of a [FixedWindow].
type window struct {
	limit  FixedWindow
	origin time.Time // where the row of windows begins: the server's start
	start  time.Time // where the current window begins
	count  int       // requests counted in the current window
}

// newWindow returns the empty window that is current at now.
func newWindow(limit FixedWindow, origin, now time.Time) window {
	w := window{limit: limit, origin: origin, start: origin}
	w.advance(now)
	return w
}

// advance moves to the window that is current at now. A clock that steps back
// changes nothing.
func (w *window) advance(now time.Time) {
	elapsed := now.Sub(w.start)
	if elapsed < w.limit.Per {
		return
	}
	w.start = now.Add(-(elapsed % w.limit.Per))
	w.count = 0
}

// wait returns how long until a request would be admitted; 0 means now.
func (w *window) wait(now time.Time) time.Duration {
	if w.count < w.limit.Max {
		return 0
	}
	return w.left(now)
}

// left returns the time until the next window begins.
func (w *window) left(now time.Time) time.Duration {
	return w.start.Add(w.limit.Per).Sub(now)
}

// spend counts one request.
func (w *window) spend() { w.count++ }

// quota describes the window as the rate-limit headers do.
func (w *window) quota(now time.Time) quota {
	q := quota{limit: w.limit.Max, remaining: max(0, w.limit.Max-w.count)}
	if w.count > 0 {
		q.reset = w.left(now)
	}
	return q
}

// resize changes the limit and keeps the count: what the current window has
// admitted stays admitted in the new one, which is aligned to the same origin.
func (w *window) resize(limit FixedWindow, now time.Time) {
	next := newWindow(limit, w.origin, now)
	next.count = w.count
	*w = next
}
