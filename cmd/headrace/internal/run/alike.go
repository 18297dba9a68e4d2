package run

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
)

// enoughAlike is how many of the first requests have to fail in the same way for the run to stop: the cause is then the
// command, the service or a field that all requests share, and the rest would fail too.
const enoughAlike = 20

// alike detects that the first requests all fail in the same way. It counts requests in the order in which they were sent, because errors
// often arrive at once, while good responses take seconds. Responses that are retried, such as a 429 or a 500, do not count.
type alike struct {
	off bool // true if --max-failures bounds the failures instead

	mu      sync.Mutex         // guards everything below
	last    int64              // number of the request sent last
	out     map[int64]struct{} // numbers of the requests in flight
	failed  []int64            // lowest numbers of failed requests, at most enoughAlike, sorted
	kind    string             // of their failure
	mixed   bool               // there was a success or another kind of failure
	stopped bool
}

// sent returns the number of a request that is about to be sent. Call ended when it is over.
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

// ended removes a request from those in flight. Call succeeded or fails before.
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

// mix ends the detection: the requests do not all fail in the same way.
func (a *alike) mix() { a.mixed, a.out, a.failed = true, nil, nil }

// fails notes a failure, and reports whether the run has to stop. Once it has, it is true for each failure of that kind.
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

// waits reports whether a request is in flight that was sent before number.
func (a *alike) waits(number int64) bool {
	for other := range a.out {
		if other < number {
			return true
		}
	}
	return false
}

// systematic returns the error of a run in which the first requests all failed like f; what describes the failure.
func systematic(f *results.RequestError, from string, via proxy, what string) *StopError {
	check := "the requests, in particular their model"
	switch status := f.StatusCode; {
	case f.Code == results.NotJSON:
		check = "--base-url, and whether a proxy or a login page responds in place of the service"
	case f.Code == results.TooLong:
		check = "the requests, in particular max_tokens and n"
	case status == http.StatusProxyAuthRequired && via != (proxy{}):
		check = via.credentials()
	case redirects(status):
		check = "--base-url"
	case status == http.StatusForbidden:
		check = "the permissions of the key"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		check = "--base-url, the url of the requests, and their model"
	}
	return &StopError{Systematic, fmt.Sprintf(
		"stopped: the first %d requests to %s all failed in the same way: %s. Check %s (--max-failures N continues until N have failed)",
		enoughAlike, from, strings.TrimRight(what, "."), check)}
}
