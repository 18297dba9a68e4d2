package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAWindowIsAnEventOnce(t *testing.T) {
	r := runMachine(Config{CallRate: 10})
	for turn := range 2 {
		at := 60 * float64(turn+1)
		r.spans.begin, r.spans.calls, r.spans.shut = at-60, 0, at-30
		r.endSpan(at, 600)
		assert.InDelta(t, 60, r.spans.Window, 1e-9)
	}
	assert.Equal(t, 1, r.reasons(WhySpan))
	r.Calls.active = 1000
	r.tick(130, true)
	r.tick(140, true)
	assert.Zero(t, r.spans.Window)
	assert.Equal(t, 1, r.reasons(WhyNoSpan))
}

func TestHeadersThatAreUsedAgainAreAnEvent(t *testing.T) {
	r := runMachine(Config{})
	r.trust.Low(0)
	for now := 0.0; now < 2*remembered; now += minute {
		r.tick(now, true)
	}
	assert.Equal(t, 1, r.reasons(WhyTrue))
}

func TestACorrectionOfRetryAfterIsAnEvent(t *testing.T) {
	r := runMachine(Config{Saved: Saved{Long: 2}})
	for now := range 3 {
		r.tick(float64(now+1), true)
	}
	assert.Equal(t, []Decision{{At: 1, Kind: Verdict, From: 1, To: 2, Why: WhyFactor}}, r.decided)
}

func TestAnotherLimitInTheHeadersIsAnEvent(t *testing.T) {
	r := runMachine(Config{})
	for _, limit := range []float64{100, 1000} {
		for range handful {
			c := r.send(r.last.At + 1)
			r.Answered(c.At+0.1, c, Answer{Used: 100, Calls: told(limit, 50, 3)})
		}
	}
	assert.Equal(t, 1, r.reasons(WhyAnew))
}
