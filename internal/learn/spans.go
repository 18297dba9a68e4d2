package learn

// Spans measures a provider that counts in windows. It shuts when a window is
// used up and opens when it turns, so what it admits from one opening to the
// next is its rate, and the time from one to the next is the window's length.
type Spans struct {
	Window float64 // length of the window, seconds; 0: none is known

	shut  float64 // when the call left that found it shut first; 0: it is open
	begin float64 // the last opening
	calls float64 // admitted by then
	hits  float64 // refused by then
}

const (
	windowShut  = 2   // seconds of closure that are no mere refill
	windowShare = 0.2 // of the span
	windowLeast = 10  // calls in a window
	spanLongest = 120 // seconds until a span begins anew
)

// Sent notes that a call left.
func (s *Spans) Sent(now float64) {
	if s.begin == 0 {
		s.begin = now
	}
}

// Shut notes that a call found the provider shut.
func (s *Spans) Shut(left float64) {
	if s.shut == 0 {
		s.shut = left
	}
}

// Opened notes that a call which left at the moment left was taken, and
// returns the rate of the span that ends there; 0 if it tells nothing. calls
// were admitted by then and hits refused. counts says whether it may be a window.
func (s *Spans) Opened(left, calls, hits float64, counts bool) (rate float64) {
	if s.shut == 0 {
		return 0
	}
	got, span, shut := calls-s.calls, left-s.begin, left-s.shut
	s.shut = 0
	switch {
	case counts && shut >= windowShut && shut >= windowShare*span && got >= windowLeast:
		s.Window = span
		rate = min(2*got, got+hits-s.hits) / span // refusals may have cost quota, too
	case shut < windowShut && span <= spanLongest:
		return 0
	}
	s.begin, s.calls, s.hits = left, calls, hits
	return rate
}
