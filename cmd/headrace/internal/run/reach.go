package run

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// deadAfter is how many calls without a connection, in a run without any answer so far, mean
// that the URL is wrong or the service is down.
const deadAfter = 3

// outageAfter is how many requests in a row have to fail with a 5xx or a broken connection, without anything else in between, for
// the next one to show an outage. Fewer are failures of single requests.
const outageAfter = enoughAlike

// The time between two attempts to reach a host.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// reach watches whether the service can be reached and works. A host that cannot be reached, and a service that fails for
// everything, are not failures of a request: it waits, as for a rate limit, and so do all others.
type reach struct {
	host    string
	proxy   proxy // through which calls are made
	maxWait time.Duration

	mu        sync.Mutex         // guards everything below
	answered  bool               // ever
	failed    int                // consecutive calls that did not reach a server
	broken    map[int64]struct{} // lines of requests that failed since the service last worked, at most outageAfter
	out       bool               // others fail as well
	since     time.Time          // the first failure to reach it, or the start of the outage
	paused    time.Time          // the start of the last pause
	pause     time.Duration
	announced bool      // there was news of this outage
	news      string    // why all requests wait, if it was not printed yet
	told      time.Time // the last time that there was news
	short     time.Time // the last time that there was news about open files
}

// newsEvery is the minimum time between two lines about a service that fails or cannot be reached.
const newsEvery = time.Minute

// announceLocked sets the news of an outage, once. If there was news of an earlier outage less than newsEvery ago, a later call does.
func (g *reach) announceLocked(now time.Time, why string) {
	if g.announced || !g.told.IsZero() && now.Sub(g.told) < newsEvery {
		return
	}
	g.news = fmt.Sprintf("%s. All requests wait until it works again, for at most %s (--max-wait)", strings.TrimSuffix(why, "."), g.maxWait)
	g.announced, g.told = true, now
}

// crowded records that there was no file left for a connection. The news of that is repeated no more often than other news.
func (g *reach) crowded(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.short.IsZero() && now.Sub(g.short) < newsEvery {
		return
	}
	g.short = now
	g.news = "too many open files: calls wait until connections are closed. Raise the limit on open files (ulimit -n), or set a lower --concurrency"
}

// takeNews returns the news, once.
func (g *reach) takeNews() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.news
	g.news = ""
	return text
}

// reached records a response of a service that works.
func (g *reach) reached() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.failed, g.pause, g.broken, g.out, g.announced = true, 0, 0, nil, false, false
}

// refused records that the service rejected a call for its load or rate, or failed for good. It may do that in an outage, too.
func (g *reach) refused() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.failed = true, 0
	if !g.out {
		g.pause, g.announced = 0, false
	}
}

// lost records a call that reached no server because of err. It returns how long to wait and whether there has ever
// been a response, or why to stop.
func (g *reach) lost(now time.Time, err error) (pause time.Duration, ever bool, stop *StopError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == 0 && !g.out {
		g.since = now
	}
	g.failed++
	switch gone := now.Sub(g.since); {
	case !g.answered && g.failed >= deadAfter:
		return 0, false, &StopError{Unreachable, fmt.Sprintf("%s cannot be reached%s: %v. Check %s", g.host, g.proxy.through(), err, g.proxy.check(err))}
	case gone >= g.maxWait:
		return 0, true, &StopError{Unreachable, fmt.Sprintf("%s has been unreachable%s for %s: %v", g.host, g.proxy.through(), gone.Round(time.Second), err)}
	}
	if g.answered && g.failed >= deadAfter {
		g.announceLocked(now, fmt.Sprintf("%s cannot be reached%s: %v", g.host, g.proxy.through(), err))
	}
	return g.pauses(now), g.answered, nil
}

// broke records a call for the request of a line that failed with a 5xx or a broken connection, because of err. In an outage it
// returns how long to wait, or why to stop; otherwise 0.
func (g *reach) broke(now time.Time, line int64, err error) (pause time.Duration, stop *StopError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.failed = true, 0
	if !g.out {
		g.announced = false // it can be reached again
	}
	if _, again := g.broken[line]; !again && !g.out {
		if len(g.broken) == outageAfter {
			g.out, g.since = true, now
		} else {
			if g.broken == nil {
				g.broken = map[int64]struct{}{}
			}
			g.broken[line] = struct{}{}
		}
	}
	switch gone := now.Sub(g.since); {
	case !g.out:
		return 0, nil
	case gone >= g.maxWait:
		return 0, &StopError{Unreachable, fmt.Sprintf("all calls to %s have failed for %s: %v", g.host, gone.Round(time.Second), err)}
	}
	g.announceLocked(now, fmt.Sprintf("all calls to %s fail, %d requests in a row: %v", g.host, outageAfter+1, err))
	return g.pauses(now), nil
}

// pauses returns how long to wait, at most until maxWait has passed. Calls that fail together count as one failure.
func (g *reach) pauses(now time.Time) time.Duration {
	if now.Sub(g.paused) >= g.pause {
		g.pause, g.paused = min(mostPause, max(firstPause, 2*g.pause)), now
	}
	return min(g.pause, g.maxWait-now.Sub(g.since))
}
