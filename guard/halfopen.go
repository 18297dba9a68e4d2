package guard

import (
	"time"

	"github.com/headrace/headrace/adaptive"
)

// The pauses between two probes of a quota that is used up.
const (
	firstProbe = time.Minute
	lastProbe  = time.Hour
)

// halfOpen probes a quota that was reported as used up: after a minute one call
// goes out, and all others wait for its outcome. Each failed probe doubles the
// pause, up to an hour.
type halfOpen struct {
	pause time.Duration // the last one; 0: the quota is not known to be used up
	probe int64         // the call that probes; 0: none is out
	until time.Time     // when the next probe is due
}

// exhausted returns until when to stay closed.
func (h *halfOpen) exhausted(now time.Time) time.Time {
	h.pause = min(max(firstProbe, 2*h.pause), lastProbe)
	h.probe, h.until = 0, now.Add(h.pause)
	return h.until
}

// probeNext has one call probe when the guard opens.
func (h *halfOpen) probeNext(until time.Time) {
	h.pause, h.probe, h.until = max(h.pause, firstProbe), 0, until
}

// known reports whether the quota is still worth knowing: one that no call has
// probed for an hour after that was due may be forgotten.
func (h *halfOpen) known(now time.Time) bool {
	return h.pause > 0 && now.Before(h.until.Add(lastProbe))
}

func (h *halfOpen) probing() bool { return h.probe != 0 }

// sent notes the call that probes.
func (h *halfOpen) sent(seq int64) {
	if h.pause > 0 && h.probe == 0 {
		h.probe = seq
	}
}

// ended takes the outcome of a call. What says nothing about the quota has
// another call probe it.
func (h *halfOpen) ended(seq int64, v adaptive.Verdict) {
	if h.probe == 0 || seq != h.probe {
		return
	}
	h.probe = 0
	if v == adaptive.OK || refused(v) { // a rate limit is reported while there is quota left
		h.pause = 0
	}
}

// reset forgets that the quota was used up.
func (h *halfOpen) reset() { *h = halfOpen{} }
