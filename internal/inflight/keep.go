package inflight

import (
	"net/http"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/replay"
)

// Keep reads the beginning of an error response with k; v is the verdict on its header.
// If the provider has rejected the request, no other is admitted until a has ended,
// and a body that has not arrived within replay.MostReading is given up. The body of
// another error is passed on after that time. a may be nil.
func Keep(k *replay.Keeper, a Attempt, resp *http.Response, v adaptive.Verdict) (kept *replay.Answer, rejected bool) {
	switch v {
	case adaptive.Hit, adaptive.Overloaded, adaptive.Terminal:
		if a != nil {
			a.Hold()
		}
		return k.KeepFor(resp.Body, resp.ContentLength, replay.MostReading), true
	case adaptive.Unclassified, adaptive.OK, adaptive.Transient, adaptive.Unsent:
	}
	return k.Keep(nil, resp.Body, resp.ContentLength, replay.MostReading, nil), false
}
