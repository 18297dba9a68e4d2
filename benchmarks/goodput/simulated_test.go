package goodput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/providertest"
)

// A window of the simulator refuses from its last call on until it turns, and
// says of both what the server would.
func TestAWindowInTheSimulator(t *testing.T) {
	window := providertest.FixedWindow{Max: 3, Per: 5 * time.Second}
	s := Scenario{Latency: time.Second, RetryAfter: providertest.RetryAfterSeconds, Limits: providertest.Limits{Window: window}}
	w := s.setting(Full())
	w.Provider.Headers = true
	p := provider.New(w.Provider, nil)
	seat := &seat{scenario: &s, provider: p}
	changes := w.Changes
	arrive := func(at time.Duration) bool {
		for len(changes) > 0 && changes[0].At <= at {
			p.Apply(changes[0].At, changes[0])
			changes = changes[1:]
		}
		a, _ := p.Arrive(at, 0)
		return a.Admitted
	}
	for turn := opening; turn < opening+time.Minute; turn += window.Per {
		for i := range window.Max {
			assert.True(t, arrive(turn+filling+time.Duration(i)*time.Second))
		}
		assert.False(t, arrive(turn+4*time.Second))
		assert.Equal(t, provider.Meter{Known: true, Limit: 3, Remaining: 0, Reset: time.Second}, seat.peep(turn+4*time.Second))
		assert.False(t, arrive(turn+window.Per-1))
	}
	assert.Equal(t, window.Per, untilTurn(window, opening))
	assert.Equal(t, time.Second, untilTurn(window, opening-window.Per-time.Second))
}

// The report in its place is that of a server, and reading it costs nothing.
func TestASeat(t *testing.T) {
	s := Scenarios()[0]
	setting := s.setting(Full())
	setting.Provider.Headers = true
	p := provider.New(setting.Provider, nil)
	heard := &listener{}
	spy := client.Contender{New: func(at client.Seat) (client.Policy, error) {
		heard.start = at.Start
		return heard, nil
	}}
	policy, err := s.seated(spy).New(client.Seat{Start: 2*joinSimulated + time.Second/2, Provider: p})
	require.NoError(t, err)
	begin := opening + 2*joining
	assert.Equal(t, begin, heard.start)
	assert.Equal(t, time.Second, policy.Admit(begin-time.Second, nil, 0))
	assert.Zero(t, policy.Admit(begin, nil, 0))

	a, _ := p.Arrive(begin, 0)
	assert.Equal(t, int64(1200), a.Requests.Limit)
	for range 3 {
		policy.Answered(begin+10*time.Millisecond, &client.Call{}, 0, &a)
		want := provider.Answer{Admitted: true, Requests: provider.Meter{Known: true, Limit: 10, Remaining: 9, Reset: 40 * time.Millisecond}}
		assert.InDelta(t, want.Requests.Reset, heard.answer.Requests.Reset, 1000)
		heard.answer.Requests.Reset = want.Requests.Reset
		assert.Equal(t, want, heard.answer)
	}
	assert.Equal(t, 1, p.InFlight())
}

// listener is a policy that records what it receives.
type listener struct {
	client.Policy
	start  time.Duration
	answer provider.Answer
}

func (l *listener) Admit(time.Duration, *client.Call, int) time.Duration { return 0 }

func (l *listener) Answered(_ time.Duration, _ *client.Call, _ int, a *provider.Answer) (backoff time.Duration, keep bool) {
	l.answer = *a
	return 0, false
}

func TestTheSimulatorHasAnEnd(t *testing.T) {
	s, c := Scenarios()[0], retryPool()
	_, err := simulate(&s, *c.Simulated, Times{Measured: time.Hour}, 1)
	require.ErrorContains(t, err, "1h0m0s")
}
