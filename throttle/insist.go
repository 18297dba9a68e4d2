package throttle

import "time"

// insistence is how a joint call that waits for slots gets them in the end. Slots
// of several limiters may never be free at the same instant by themselves, and
// when a slot will be free is not known. So a call that was overtaken often is
// not overtaken for a while: what becomes free stays free for it. As a call in
// flight may itself wait for what is kept back, this ends, and begins again only
// after as long a rest.
type insistence struct {
	lost  int // times that it lacked a slot after it had been overtaken
	span  time.Duration
	until time.Time
	rests time.Time
}

const (
	patience       = 8
	firstInsisting = time.Second
	mostInsisting  = 30 * time.Second
)

// lacks notes that the call lacks a slot.
func (s *insistence) lacks(now time.Time, overtaken bool) {
	if overtaken {
		s.lost++
	}
	if s.lost < patience || now.Before(s.rests) {
		return
	}
	s.span = min(max(2*s.span, firstInsisting), mostInsisting)
	s.until, s.rests = now.Add(s.span), now.Add(2*s.span)
}
