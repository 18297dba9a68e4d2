package run

import (
	"fmt"
	"sync"
	"time"
)

// deadAfter is how many calls without a connection, in a run without any answer so far, mean
// that the URL is wrong or the service is down.
const deadAfter = 3

// outageAfter is how many calls in a row have to fail with a 5xx or a broken connection for it to be an outage. Fewer are
// failures of single requests.
const outageAfter = enoughAlike

// The time between two attempts to reach a host.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// reach watches whether the service can be reached and works. A host that cannot be reached, and a service that fails for
// everything, are no failures of a request: it waits, as for a rate limit, and so do all others.
type reach struct {
	host    string
	maxWait time.Duration

	mu       sync.Mutex // guards everything below
	answered bool       // ever
	failed   int        // consecutive calls without an answer of a working service
	since    time.Time  // the first of them
	paused   time.Time  // the start of the last pause
	pause    time.Duration
}

// reached records a response of a service that works.
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
	out := g.fails(now)
	if !g.answered && g.failed >= deadAfter {
		return 0, false, &StopError{Unreachable, fmt.Sprintf("%s cannot be reached: %v. Check --base-url, and whether the service is up", g.host, err)}
	}
	if out >= g.maxWait {
		return 0, true, &StopError{Unreachable, fmt.Sprintf("%s has been unreachable for %s: %v", g.host, out.Round(time.Second), err)}
	}
	return g.pauses(now), g.answered, nil
}

// broke records a call that failed with a 5xx or a broken connection, because of err. In an outage it returns how long to wait, or
// why to stop; otherwise 0.
func (g *reach) broke(now time.Time, err error) (pause time.Duration, stop *StopError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered = true
	out := g.fails(now)
	switch {
	case g.failed <= outageAfter:
		return 0, nil
	case out >= g.maxWait:
		return 0, &StopError{Unreachable, fmt.Sprintf("all calls to %s have failed for %s: %v", g.host, out.Round(time.Second), err)}
	}
	return g.pauses(now), nil
}

// fails counts a failure, and returns for how long there have been nothing but failures.
func (g *reach) fails(now time.Time) time.Duration {
	if g.failed == 0 {
		g.since = now
	}
	g.failed++
	return now.Sub(g.since)
}

// pauses returns how long to wait. Calls that fail together count as one failure.
func (g *reach) pauses(now time.Time) time.Duration {
	if now.Sub(g.paused) >= g.pause {
		g.pause, g.paused = min(mostPause, max(firstPause, 2*g.pause)), now
	}
	return g.pause
}
