package adaptive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// The kind of a refusal decides what is learned of it.
func TestMeasuredHearsTheKind(t *testing.T) {
	for _, c := range []struct {
		kind          adaptive.Kind
		bound         int // calls in flight
		calls, tokens bool
	}{
		{adaptive.UnknownKind, 4, false, false}, // a cap, on trial
		{adaptive.KindRequests, 0, true, false},
		{adaptive.KindTokens, 0, true, true},
		{adaptive.KindConcurrency, 4, false, false},
		{adaptive.KindOverload, 4, false, false}, // none of a refusal
		{adaptive.Kind(200), 4, false, false},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s, err := adaptive.Measured{Initial: 20}.Start(now, 1)
			require.NoError(t, err)
			cost := throttle.Cost{Requests: 1, Tokens: 10}
			sent := throttle.Sent{Cost: cost}
			for i := range 5 {
				sent.Seq, sent.At, sent.InFlight = int64(i)+1, now.Add(time.Duration(i)*time.Second), i
				sent.Total = throttle.Cost{Requests: sent.Seq, Tokens: 10 * sent.Seq}
				s.OnSend(sent.At, sent)
			}
			s.OnResult(sent.At.Add(time.Second), sent, 4, adaptive.Feedback{Verdict: adaptive.Hit, Kind: c.kind})
			v := s.View()
			assert.Equal(t, c.calls, v.Pace[throttle.Requests] > 0)
			assert.Equal(t, c.tokens, v.Pace[throttle.Tokens] > 0)
			if c.bound > 0 {
				assert.Equal(t, c.bound, v.Concurrency)
			}
		})
	}
}
