package run

import (
	"fmt"
	"sync"
	"time"
)

// deadAfter is how many calls without a connection, in a run without any answer so far, mean
// that the URL is wrong or the service is down.
const deadAfter = 3

// The time between two attempts to reach a host.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// reach watches whether the service can be reached. A host that cannot be reached is
// not a failure of a request: it waits, as for a rate limit, and so do all others.
type reach struct {
	host    string
	maxWait time.Duration

	mu       sync.Mutex // guards everything below
	answered bool       // ever
	failed   int        // consecutive calls that did not reach a server
	since    time.Time  // the first of them
	paused   time.Time  // the start of the last pause
	pause    time.Duration
}

// reached records a response.
func (g *reach) reached() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.failed, g.pause = true, 0, 0
}

// lost records a call that reached no server because of err. It returns how long to wait and whether there has ever
// been a response, or why to stop.
func (g *reach) lost(now time.Time, err error) (pause time.Duration, ever bool, stop *StopError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == 0 {
		g.since = now
	}
	g.failed++
	switch gone := now.Sub(g.since); {
	case !g.answered && g.failed >= deadAfter:
		return 0, false, &StopError{Unreachable, fmt.Sprintf("%s cannot be reached: %v. Check --base-url, and whether the service is up", g.host, err)}
	case gone >= g.maxWait:
		return 0, true, &StopError{Unreachable, fmt.Sprintf("%s has been unreachable for %s: %v", g.host, gone.Round(time.Second), err)}
	}
	if now.Sub(g.paused) >= g.pause { // calls that fail together count as one failure
		g.pause, g.paused = min(mostPause, max(firstPause, 2*g.pause)), now
	}
	return g.pause, g.answered, nil
}
