package learn

import "math"

// Spans measures a provider that counts in windows. It shuts when a window is
// used up and opens when it turns, so what it admits from one opening to the
// next is its rate, and the time from one to the next is the window's length.
type Spans struct {
	Window float64 // length of the window, seconds; 0: none is known

	shut  float64 // when the call left that found it shut first; 0: it is open
	rests float64 // until when no call waited to find it open again; 0: one always did
	begin float64 // the last opening
	calls float64 // admitted by then
	hits  float64 // refused by then
	holds float64 // calls that the window let through
	last  float64 // length of the last span that may have been a window; 0: none has
	got   float64 // calls that it let through

	rose float64 // when its limit proved to have risen, and it has not been used up since; 0: it did not
}

const (
	windowShare = 0.2             // of a window: its end, in which the provider is shut if the window was used up
	spanLongest = 2 * rarestProbe // seconds: a longer span is an outage, unless it comes again; without a closure a new one begins
	spanAlike   = 1.25            // times another, at most: it is as long, or has let as much through
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
	if left >= s.rests {
		s.rests = 0
	}
}

// Rest notes that no call has waited for a while until now. If the provider was shut, it may have opened meanwhile.
func (s *Spans) Rest(now float64) {
	if s.shut > 0 {
		s.rests = now
	}
}

// Opened records that a call which left at the moment left was admitted, and returns the rate of the span that ends there, or 0
// if it is unknown. calls were admitted by then and hits refused. counts says whether it may be a window, and known is the rate
// on which marks agree, or 0. A span that gives much less than that, or ends before the window is used up, is an outage, unless
// it recurs.
func (s *Spans) Opened(left, calls, hits, known float64, counts bool) (rate float64) {
	switch {
	case s.shut == 0:
		return 0
	case s.rests > 0:
		s.shut, s.rests, s.begin, s.calls, s.hits = 0, 0, left, calls, hits
		return 0
	}
	got, span, shut := calls-s.calls, left-s.begin, left-s.shut
	late := s.shut < s.begin // the call that was refused last had left before the last opening
	s.shut = 0
	usedUp := shut >= interruption && shut >= windowShare*span && got >= handful
	switch {
	case late:
		return 0
	case counts && usedUp:
		s.rose = 0
		again := alike(span, s.last) && alike(got, s.got)
		early := s.Window > 0 && spanAlike*got < s.holds
		if again || !early && span <= spanLongest && got/span >= memoryFell*known {
			s.Window, s.holds = span, got
			rate = min(2*got, got+hits-s.hits) / span // refusals may have cost quota, too
		}
		s.last, s.got = span, got
	case shut < interruption && span <= spanLongest:
		return 0
	}
	s.begin, s.calls, s.hits = left, calls, hits
	return rate
}

// NoteRise notes that the limit of the window proves to have risen. It reports whether there is no such window any more, because that
// was so before, lately, and the window has not been used up in between.
func (s *Spans) NoteRise(now float64) (gone bool) {
	gone = s.rose > 0 && now < s.rose+max(remembered, enough*s.Window)
	s.rose = now
	return gone
}

// Mostly reports whether the provider was shut for most of the span that ends at the moment left.
func (s *Spans) Mostly(left float64) bool { return left-s.shut > 0.5*(left-s.begin) }

func alike(a, b float64) bool { return max(a, b) < spanAlike*min(a, b) }

// endSpan ends what is measured of a window: the first call that it took when it
// opened again left at the moment left, when so many calls had been admitted.
func (m *Machine) endSpan(left, calls float64) {
	known, headers := m.calm.Settled, m.quota.Known() && !m.trust.Ignored(left)
	counts := m.Calls.On && !m.Door.Outlasted() && (m.spans.Window > 0 || !headers)
	if m.Door.ShutByForeign() { // another limit shut the key for long, if it recurs; or an outage did
		known, counts = math.Inf(1), m.quota.Known() && m.spans.Mostly(left)
	}
	counts = counts && !m.Flight.Claimed && !m.off.Has(WindowRule)
	before := m.spans.Window
	rate := m.spans.Opened(left, calls, float64(m.hits), known, counts)
	if rate == 0 {
		return
	}
	if before == 0 && m.spans.Window > 0 {
		m.note(Decision{At: left, Kind: Verdict, To: m.spans.Window, Why: WhySpan})
	}
	m.noise.Forget()
	m.followWindow(left, rate)
	m.setWindow(m.spans.Window)
}

// followWindow lowers the paces to the rate of a window.
func (m *Machine) followWindow(left, rate float64) {
	if !m.Calls.On { // the headers have paced the calls, by another limit
		m.Calls.Expect(rate, Cycle(rate), false)
		m.note(Decision{At: left, Kind: Cut, Of: OfCalls, To: rate, Why: WhyWindow})
	}
	if rate >= m.Calls.Pace() {
		return
	}
	m.note(Decision{At: left, Kind: Cut, Of: OfCalls, From: m.Calls.Pace(), To: rate, Why: WhyWindow})
	share := rate / m.Calls.Rate
	m.rates.Stop(left, m.Door.rtt)
	m.Calls.Set(rate, Cycle(rate))
	m.rates.Marked(left, rate, false)
	used := rate * m.tally.each() // by calls at that rate; the pace of calls may have been far above what was admitted
	m.Tokens.Set(max(m.Tokens.Rate*share, min(m.Tokens.Rate, used)), Cycle(rate))
}

// setWindow tells the paces, too, the length of the window in which the provider counts; 0: in none.
func (m *Machine) setWindow(seconds float64) {
	m.spans.Window = seconds
	m.Calls.SetSpan(seconds)
	m.Tokens.SetSpan(seconds)
}
