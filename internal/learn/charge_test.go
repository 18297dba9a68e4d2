package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChargeIsWhatIsGone(t *testing.T) {
	for name, c := range map[string]struct{ each, times, want float64 }{
		"as much":              {0, 1, 100},
		"a third":              {0, 1. / 3, 33},
		"three times as much":  {0, 3, 300},
		"the same for a call":  {200, 0, 200},
		"and some for a token": {200, 0.5, 250},
		"at least a quarter":   {0, 0, 25},
		"at most four times":   {0, 1000, 400},
	} {
		t.Run(name, func(t *testing.T) {
			var charge Charge
			assert.InDelta(t, 100, charge.Of(Amount{1, 100}), 0, "nothing is known yet")
			for i := range memory {
				calls := 10 * float64(1-2*(i%2)) // leave, or end
				tokens := calls * (70 + 60*float64(i/2%2))
				charge.Observe(Amount{calls, tokens}, c.each*calls+c.times*tokens, 100)
			}
			assert.InDelta(t, c.want, charge.Of(Amount{1, 100}), 2)
		})
	}
}

// A bucket of 1000 tokens is refilled at 100 a second. Each second, one to three calls leave that reserve 300 tokens, for each of
// which the provider reserves 100. Half a second later they end, and have used half of that, or nearly nothing.
func TestHeadersShowWhatTheProviderReserves(t *testing.T) {
	const reserved, full, refill = 100, 1000, 100
	for _, c := range []struct {
		name        string
		calls       int
		level, used float64
		charged     float64
	}{
		{"a third", 3, 600, reserved / 2, reserved},
		{"of a full bucket nothing is known", 1, full, 1, 3 * reserved},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &quotaRun{}
			level, at := c.level, 0.0
			var total float64
			for range 100 {
				at++
				n := 1 + int(at)%c.calls
				for range n {
					q.seq++
					total += 3 * reserved
					level -= reserved
					call := Call{Seq: q.seq, At: at, Tokens: 3 * reserved, Total: total}
					q.t.Sent(call)
					q.Sent(call)
					q.Observe(at, call, 1, Told{}, told(60*refill, level, (full-level)/refill), &q.t)
				}
				for range n {
					q.t.Answered(Call{Tokens: 3 * reserved}, c.used)
				}
				level = min(full, level+refill+float64(n)*(reserved-c.used))
			}
			assert.InDelta(t, c.charged, q.charge.Of(Amount{1, 3 * reserved}), 0.2*reserved)
		})
	}
}

func TestCallsWaitForWhatTheProviderReserves(t *testing.T) {
	for charged, want := range map[float64]float64{100: 1, 50: 0, 200: 5} { // of the 500 tokens left, three calls have been sent
		q := &quotaRun{}
		q.told(q.send(1), Told{}, fiveTokens)
		q.send(3)
		q.charge = Charge{call: 1, square: 1e9, product: 1e9 * (charged/100 - 1)}
		assert.InDelta(t, want, q.wait(1, 100, unspent{}, &q.t).wait, 0.01, "%v", charged)
	}
}

func TestALimitThatChangesIsNoCharge(t *testing.T) {
	var c Charge
	for range 20 {
		c.Observe(Amount{1, 100}, 100, 100)
	}
	before := c.Of(Amount{1, 100})
	c.Observe(Amount{1, 100}, -1e6, 100)
	assert.InDelta(t, before, c.Of(Amount{1, 100}), 30)
}
