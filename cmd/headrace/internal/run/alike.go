package run

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// enoughAlike is how many of the first requests have to come to the same failure for the run to be stopped: the cause is the
// command, the service or all of the requests, and the others would come to the same.
const enoughAlike = 20

// alike looks at what the first requests come to, in the order in which they were sent: an error often comes at once where a
// good answer takes its time. Answers that are retried, such as a 429 or a 500, say nothing.
type alike struct {
	off bool // --max-failures says how many failures there may be

	mu      sync.Mutex // guards everything below
	last    int64      // the number of the request that was sent last
	out     map[int64]struct{}
	failed  []int64 // the first that failed, at most enoughAlike, in their order
	kind    string  // of their failure
	mixed   bool    // there was a success, or another failure
	stopped bool
}

// sent notes that a request is sent, and returns its number. Each has to be ended.
func (a *alike) sent() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	if !a.mixed {
		if a.out == nil {
			a.out = map[int64]struct{}{}
		}
		a.out[a.last] = struct{}{}
	}
	return a.last
}

// ended notes that a request is out no more. What it came to is said before, if it says anything.
func (a *alike) ended(number int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.out, number)
}

// succeeded notes a success.
func (a *alike) succeeded() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mix()
}

// mix has nothing left to find out.
func (a *alike) mix() { a.mixed, a.out, a.failed = true, nil, nil }

// fails notes that a request has failed in some way, and reports whether the run is stopped because of all that have.
func (a *alike) fails(number int64, kind string) (stop bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped || a.mixed || a.off {
		return a.stopped && a.kind == kind
	}
	if len(a.failed) > 0 && a.kind != kind {
		a.mix()
		return false
	}
	a.kind = kind
	at, _ := slices.BinarySearch(a.failed, number)
	a.failed = slices.Insert(a.failed, at, number)
	a.failed = a.failed[:min(len(a.failed), enoughAlike)]
	delete(a.out, number)
	a.stopped = len(a.failed) == enoughAlike && !a.waits(a.failed[enoughAlike-1])
	return a.stopped
}

// waits reports whether a request is out that was sent before the one of that number.
func (a *alike) waits(number int64) bool {
	for other := range a.out {
		if other < number {
			return true
		}
	}
	return false
}

// systematic is why a run is stopped whose first requests all came to a failure of the status, which is described by what.
func systematic(status int, from, what string) *StopError {
	check := "the requests, above all their model"
	switch {
	case status/100 == 2:
		check = "--base-url, and whether a proxy or a login page answers in place of the service"
	case redirects(status):
		check = "--base-url"
	case status == http.StatusForbidden:
		check = "what the key is allowed to do"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		check = "--base-url, the url of the requests, and their model"
	}
	return &StopError{Systematic, fmt.Sprintf(
		"stopped: the first %d requests to %s all came to the same failure: %s. Check %s (--max-failures N continues until N have failed)",
		enoughAlike, from, strings.TrimRight(what, "."), check)}
}
