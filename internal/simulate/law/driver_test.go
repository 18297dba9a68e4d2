package law_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// The verdicts are those of adaptive.DefaultDetector about the same responses.
func TestVerdicts(t *testing.T) {
	for about, c := range map[string]struct {
		answer provider.Answer
		want   adaptive.Verdict
		keeps  bool
	}{
		"a 429":                  {provider.Answer{}, adaptive.Hit, false},
		"a 529":                  {provider.Answer{Status: provider.Full}, adaptive.Overloaded, false},
		"a 503 with Retry-After": {provider.Answer{Status: provider.Unavailable, RetryAfter: time.Second}, adaptive.Overloaded, false},
		"a plain 503 is retried": {provider.Answer{Status: provider.Unavailable}, adaptive.Transient, true},
	} {
		t.Run(about, func(t *testing.T) {
			s := &spy{}
			backoff, keep := drive(t, s).Answered(0, &client.Call{Refusals: 1}, 0, &c.answer)
			assert.Equal(t, c.want, s.feedbacks[0].Verdict)
			assert.Equal(t, c.keeps, keep)
			assert.Equal(t, c.keeps, backoff > 0)
		})
	}
}

func TestFailuresAreRetriedAsByDefault(t *testing.T) {
	p := drive(t, &spy{})
	for failures, middle := range map[int]time.Duration{1: time.Second / 2, 2: time.Second, 4: 4 * time.Second, 90: 30 * time.Second} {
		for range 50 {
			backoff, _ := p.Answered(0, &client.Call{Refusals: failures}, 0, &provider.Answer{Status: provider.Unavailable})
			assert.True(t, backoff >= middle/2 && backoff <= min(middle*3/2, 30*time.Second), "%s after %d", backoff, failures)
		}
	}
}

// Measured starts at what the provider documents; other controllers do not support that.
func TestPresets(t *testing.T) {
	pace := func(l adaptive.Law) client.Gauge {
		p, err := law.Drive("x", l, false).New(client.Seat{Preset: client.Preset{RequestsPerMinute: 120, TokensPerMinute: 6000}})
		require.NoError(t, err)
		return p.(client.Gauged).Gauge()
	}
	assert.InEpsilon(t, 2, pace(adaptive.Measured{}).Pace, 0.05)
	assert.InEpsilon(t, 100, pace(adaptive.Measured{}).TokenPace, 0.05)
	assert.Zero(t, pace(adaptive.AIMD{}).Pace)
}
