package service

// Blocked is a limit that refuses checks.
type Blocked struct {
	Scope, Identifier, Resource string
	Refused                     int64 // checks since the start, at the most: 1,000 limits are counted
}

// Blocked returns the n limits that have rejected the most checks of this server, the
// worst first.
func (s *Server) Blocked(n int) []Blocked {
	var all []Blocked
	for _, b := range s.decider.Blocked(n) {
		all = append(all, Blocked(b))
	}
	return all
}
