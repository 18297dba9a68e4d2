package rival_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func admitted(t *testing.T, s scenario.Scenario, c client.Contender, seed uint64) (tally client.Tally) {
	t.Helper()
	results, err := client.Run(s.Setting, c, seed, client.Watch{})
	require.NoError(t, err)
	for _, r := range results {
		tally.Admitted += r.Measured.Admitted
		tally.Refused += r.Measured.Refused
	}
	return tally
}

// If the quota is not shared, no contender gets more than the oracle, except for the
// luck of a smaller item at the head of the line.
func TestNobodyBeatsTheOracle(t *testing.T) {
	for i, s := range scenario.Twelve() {
		if s.Shared() {
			continue
		}
		best := admitted(t, s, rival.Oracle(), 3)
		assert.Zero(t, best.Refused, "%s: the oracle is never refused", s.Name)
		greedy := rival.All()[[...]int{0, 2, 4, 5}[i%4]]
		got := admitted(t, s, greedy, 3)
		assert.LessOrEqual(t, float64(got.Admitted), 1.02*float64(best.Admitted), "%s: %s", s.Name, greedy.Name)
	}
}

// Several processes that know everything share a cap without a refusal, and
// hear at once when another one has made room.
func TestOraclesShare(t *testing.T) {
	for _, s := range scenario.Twelve() {
		if s.Name == "4 share cap" {
			assert.Zero(t, admitted(t, s, rival.Oracle(), 1).Refused)
		}
	}
	s := scenario.Scenario{Setting: client.Setting{
		Provider: provider.Config{Overload: 2}, Latency: time.Second, Processes: 2, // one at a time
	}}
	assert.InEpsilon(t, client.Measured.Seconds(), admitted(t, s, rival.Oracle(), 1).Admitted, 0.1)
}

// The oracle gets what the limit gives.
func TestTheOracleGetsAll(t *testing.T) {
	minutes := client.Measured.Minutes()
	for name, want := range map[string]float64{
		"600/min b10": 600, "fixed minute": 600, "refusals count": 600, "4 share rate": 600,
		"cap 20": 20 * 60 / 1.04, "rate /2 x2": 600 * 0.875,
	} {
		for _, s := range scenario.Twelve() {
			if s.Name == name {
				assert.InEpsilon(t, want*minutes, admitted(t, s, rival.Oracle(), 1).Admitted, 0.01, name)
			}
		}
	}
}

// A change of the limits is news to the oracle at once.
func TestTheOracleHearsOfChanges(t *testing.T) {
	s := scenario.Scenario{Setting: client.Setting{
		Provider: provider.Config{Requests: provider.Bucket{PerMinute: 0.01, Burst: 1}},
		Changes:  []provider.Change{{At: client.WarmUp, Factor: 60_000}},
		Latency:  time.Second, Processes: 1,
	}}
	assert.InEpsilon(t, 600*client.Measured.Minutes(), admitted(t, s, rival.Oracle(), 1).Admitted, 0.01)
}

func start(t *testing.T, name string) client.Policy {
	t.Helper()
	return startWith(t, name, client.Seat{Pool: 2, Seed: 1, Processes: 1})
}

func startWith(t *testing.T, name string, seat client.Seat) client.Policy {
	t.Helper()
	for _, c := range rival.All() {
		if c.Name == name {
			p, err := c.New(seat)
			require.NoError(t, err)
			return p
		}
	}
	require.Fail(t, "no such rival", name)
	return nil
}

var (
	yes = &provider.Answer{Admitted: true}
	no  = &provider.Answer{}
)

// A worker that was rejected keeps its place: no other worker takes it meanwhile.
func TestAWorkerBacksOffWithItsItem(t *testing.T) {
	p := start(t, "fixed pool 32 + SDK retry")
	one, two, three := &client.Call{}, &client.Call{}, &client.Call{}
	for _, c := range []*client.Call{one, two} {
		assert.Zero(t, p.Admit(0, c, 0))
		p.Sent(0, c)
	}
	assert.Equal(t, client.Forever, p.Admit(0, three, 2))
	one.Refusals = 1
	backoff, keep := p.Answered(second, one, 1, no)
	assert.True(t, keep)
	assert.True(t, backoff > 375*time.Millisecond && backoff <= 500*time.Millisecond, backoff)
	assert.Equal(t, client.Forever, p.Admit(second, three, 1))
	assert.Zero(t, p.Admit(second, one, 1))
	p.Sent(second, one)
	p.Answered(2*second, one, 1, yes)
	assert.Zero(t, p.Admit(2*second, three, 1))
}

func TestSDKBackoff(t *testing.T) {
	p := start(t, "Netflix AIMD")
	after := func(refusals int, told time.Duration) time.Duration {
		d, _ := p.Answered(0, &client.Call{Refusals: refusals}, 0, &provider.Answer{RetryAfter: told})
		return d
	}
	assert.Equal(t, 59*second, after(1, 59*second))
	for refusals, most := range map[int]time.Duration{1: second / 2, 2: second, 3: 2 * second, 5: 8 * second, 50: 8 * second} {
		d := after(refusals, 0)
		assert.True(t, d > most*3/4 && d <= most, "%s after %d", d, refusals)
	}
	assert.LessOrEqual(t, after(1, time.Minute), second/2, "a minute is too long to be believed")
}

func TestCubic(t *testing.T) {
	p := start(t, "AWS adaptive (CUBIC)")
	gauge := func() client.Gauge { return p.(client.Gauged).Gauge() }
	call := &client.Call{Refusals: 1} // has a worker, whatever happens
	send := func(at time.Duration, a *provider.Answer) {
		p.Sent(at, call)
		p.Answered(at, call, 0, a)
	}
	var now time.Duration
	for range 100 { // ten a second
		now += 100 * time.Millisecond
		assert.Zero(t, p.Admit(now, call, 0), "no bucket before the first refusal")
		send(now, yes)
	}
	assert.Zero(t, gauge().Pace)
	send(now, no)
	assert.InDelta(t, 7, gauge().Pace, 0.5, "0.7 of what was measured")
	burst := 0
	for ; p.Admit(now, call, 0) == 0; burst++ {
		p.Sent(now, call)
	}
	assert.LessOrEqual(t, burst, 8, "a second of the pace")
	wait := p.Admit(now, call, 0)
	assert.LessOrEqual(t, wait.Seconds(), 1/6.5)
	assert.Zero(t, p.Admit(now+wait, call, 0), "when the wait is over it may go")
	now += wait
	hit := gauge().Pace
	var paces []float64
	for range 100 {
		now += 100 * time.Millisecond
		send(now, yes)
		paces = append(paces, gauge().Pace)
	}
	assert.Greater(t, paces[15], hit)
	assert.InDelta(t, 10, paces[19], 1, "the plateau at the rate of the refusal")
	assert.Greater(t, paces[99], 15.0, "and beyond")
	assert.LessOrEqual(t, paces[99], 21.0, "at most twice what is sent")
}
