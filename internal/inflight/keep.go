package inflight

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/replay"
)

// mostReading bounds how long the body of an error is waited for.
const mostReading = 2 * time.Second

// Keep reads the beginning of an error response, whose header has the verdict v.
// If that says that the provider has rejected the request, no other is admitted
// until a has ended, and a body that is not there after mostReading is given up.
// That of another error is passed on then. a may be nil.
func Keep(a Attempt, resp *http.Response, v adaptive.Verdict) (kept *replay.Answer, rejected bool) {
	switch v {
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
		if a != nil {
			a.Hold()
		}
		return replay.KeepFor(resp.Body, resp.ContentLength, mostReading), true
	case adaptive.Unclassified, adaptive.OK, adaptive.Transient, adaptive.Unsent:
	}
	return replay.KeepWithin(resp.Body, resp.ContentLength, mostReading), false
}
