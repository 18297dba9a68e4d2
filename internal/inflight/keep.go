package inflight

import (
	"net/http"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/replay"
)

// Keep reads the beginning of an error response, whose header has the verdict v.
// If that says that the provider has rejected the request, no other is admitted
// until a has ended, and a body that is not there after replay.MostReading is given up.
// That of another error is passed on then. a may be nil.
func Keep(a Attempt, resp *http.Response, v adaptive.Verdict) (kept *replay.Answer, rejected bool) {
	var k replay.Keeper
	switch v {
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
		if a != nil {
			a.Hold()
		}
		return k.KeepFor(resp.Body, resp.ContentLength, replay.MostReading), true
	case adaptive.Unclassified, adaptive.OK, adaptive.Transient, adaptive.Unsent:
	}
	return k.Keep(resp.Body, resp.ContentLength, replay.MostReading, nil), false
}
