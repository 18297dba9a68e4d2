package executor

import "time"

// pace is how long tasks take lately, from when they leave the queue to their end.
type pace struct {
	mean  time.Duration
	known bool
}

// note adds a task. The last eight weigh most.
func (p *pace) note(took time.Duration) {
	if !p.known {
		p.mean, p.known = took, true
		return
	}
	p.mean += (took - p.mean) / 8
}

// The bounds of a wait that can be put into an HTTP header.
const (
	unknownWait = time.Second
	longestWait = 24 * time.Hour
)

// room is when a queue of this depth, which is worked on by n at a time, is
// expected to be worked off.
func (p *pace) room(depth, n int) time.Duration {
	if !p.known {
		return unknownWait
	}
	wait := float64(p.mean) * float64(depth) / float64(n)
	if wait >= float64(longestWait) {
		return longestWait
	}
	return max(1, time.Duration(wait))
}
