package run

import (
	"fmt"
	"net/http"
	"sync"
)

// mostAlike is how many first answers may be the same failure before the run is stopped: the cause is the command, the
// service or all of the requests, and the others would fail in the same way.
const mostAlike = 20

// alike looks at the first answers of a run. Answers that are retried, such as a 429 or a 500, are not among them.
type alike struct {
	off bool // --max-failures says how many failures there may be

	mu    sync.Mutex // guards everything below
	mixed bool       // there was a success, or another failure
	kind  string     // of all failures so far
	n     int
}

// succeeded notes a success.
func (a *alike) succeeded() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mixed = true
}

// failed notes a failure, and reports whether the run has to be stopped because of it.
func (a *alike) failed(kind string) (stop bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == 0 {
		a.kind = kind
	}
	if a.n++; a.kind != kind && a.n <= mostAlike {
		a.mixed = true
	}
	return !a.off && !a.mixed && a.n >= mostAlike && a.kind == kind
}

// systematic is why a run is stopped whose first answers were all a failure of the status, which is described by what.
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
		"stopped: the first %d answers of %s were all the same failure: %s. Check %s (--max-failures N continues until N have failed)",
		mostAlike, from, what, check)}
}
