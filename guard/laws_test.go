package guard_test

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// unbounded is a law that learns nothing and bounds nothing.
type unbounded struct{}

func (u unbounded) Start(time.Time, uint64) (adaptive.State, error) { return u, nil }

func (unbounded) Admit(time.Time, throttle.Cost, int) time.Duration { return 0 }

func (unbounded) Slack(time.Time) {}

func (unbounded) OnSend(time.Time, throttle.Sent) {}

func (unbounded) OnResult(time.Time, throttle.Sent, int, adaptive.Feedback) {}

func (unbounded) OnSignal(time.Time, *adaptive.RateLimitHit) {}

func (unbounded) View() adaptive.View { return adaptive.View{} }

// recording is AIMD that keeps what it is called with.
type recording struct {
	adaptive.State
	results []adaptive.Feedback
	hits    []*adaptive.RateLimitHit // signalled
	sent    []throttle.Sent
	still   []int
}

func (r *recording) Start(now time.Time, seed uint64) (adaptive.State, error) {
	var err error
	r.State, err = adaptive.AIMD{}.Start(now, seed)
	return r, err
}

func (r *recording) OnResult(now time.Time, s throttle.Sent, inFlight int, f adaptive.Feedback) {
	r.results, r.sent, r.still = append(r.results, f), append(r.sent, s), append(r.still, inFlight)
	r.State.OnResult(now, s, inFlight, f)
}

func (r *recording) OnSignal(now time.Time, h *adaptive.RateLimitHit) {
	r.hits = append(r.hits, h)
	r.State.OnSignal(now, h)
}
