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

// A guard without limits holds nothing back before the first rejection, and then knows
// what was sent.
func TestALawThatBeginsAtTheFirstRejection(t *testing.T) {
	p, err := law.Drive("x", adaptive.Measured{}, false).New(client.Seat{Items: 30})
	require.NoError(t, err)
	assert.Zero(t, p.(client.Gauged).Gauge(), "there is nothing to show yet")
	var calls []*client.Call
	for i := range 30 {
		now := time.Duration(i) * time.Second / 10
		c := &client.Call{Seq: int64(i + 1), SentAt: now, Others: i}
		require.Zero(t, p.Admit(now, c, i))
		p.Sent(now, c)
		calls = append(calls, c)
	}
	p.Slack(3 * time.Second)
	p.Answered(3*time.Second, calls[0], 29, &provider.Answer{Admitted: true})
	assert.Zero(t, p.Admit(3*time.Second, calls[29], 29))
	backoff, keep := p.Answered(3*time.Second, &client.Call{Refusals: 1}, 28, &provider.Answer{Status: provider.Unavailable})
	assert.True(t, keep)
	assert.Positive(t, backoff)

	p.Answered(3*time.Second, calls[29], 28, &provider.Answer{RetryAfter: 2 * time.Second})
	assert.GreaterOrEqual(t, p.Admit(3*time.Second, calls[29], 28), 2*time.Second)
	assert.InEpsilon(t, 10, p.(client.Gauged).Gauge().Pace, 0.1)
	p.Slack(6 * time.Second)
	next := &client.Call{Seq: 31, SentAt: 6 * time.Second}
	assert.Zero(t, p.Admit(6*time.Second, next, 0))
	p.Sent(6*time.Second, next)
}

func TestAGuardWithAPresetStartsItsLawAtOnce(t *testing.T) {
	p, err := law.Drive("x", adaptive.Measured{}, false).New(client.Seat{Items: 30, Preset: client.Preset{RequestsPerMinute: 60}})
	require.NoError(t, err)
	g := p.(client.Gauged).Gauge()
	assert.InEpsilon(t, 1, g.Pace, 0.05)
	assert.InEpsilon(t, 200, g.Window, 1e-9, "the rate bounds the start")
}
