//go:build !race

// Thousands of timers in a bubble of synctest crash the race detector of Go 1.26
// now and then (golang/go#78156 looks like it). For that one there is run_test.go.

package goodput

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// inProcess reaches a server without a socket, so that its time may be virtual.
func inProcess(s *providertest.Server) (http.RoundTripper, string) {
	return s.Transport(), "http://provider"
}

// short is long enough for two windows.
func short() Times { return Times{WarmUp: 5 * time.Second, Measured: 10 * time.Second} }

// No caller gets more than the limits allow, and no caller is forgotten.
func TestNobodyGetsMoreThanThereIs(t *testing.T) {
	for _, s := range Scenarios() {
		for _, c := range Contenders() {
			t.Run(s.Name+"/"+c.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					times := short()
					ledger, begin, err := play(t.Context(), &s, &c, times, 1, inProcess)
					require.NoError(t, err)
					assert.Equal(t, begin.Add(times.end()), time.Now(), "it ends on time")
					assert.Equal(t, ledger.Arrivals, ledger.Admitted+ledger.Refused, "every request is well-formed")
					assert.Zero(t, ledger.InFlight)

					cold := count(ledger, begin, begin.Add(times.WarmUp), s.processes())
					got := count(ledger, begin.Add(times.WarmUp), begin.Add(times.end()), s.processes())
					assert.Equal(t, ledger.Admitted, cold.admitted+got.admitted)
					assert.Equal(t, ledger.Refused, cold.refused+got.refused)
					sum := 0
					for _, n := range got.by {
						assert.Positive(t, n)
						sum += n
					}
					assert.Equal(t, got.admitted, sum)
					assert.LessOrEqual(t, float64(got.admitted), s.oracle(times, got.latency(s.Latency))+spare(&s))

					span, latency := s.firstMinute(times), got.latency(s.Latency)
					first := count(ledger, begin, begin.Add(span), s.processes())
					assert.Positive(t, first.admitted)
					assert.LessOrEqual(t, float64(first.admitted), s.possible(span, latency)+spare(&s)-float64(s.Limits.Rate.Burst))
				})
			})
		}
	}
}

// spare is what a provider may have in store when the measured time begins; the
// mean latency of a cap is known to a tenth only.
func spare(s *Scenario) float64 {
	return float64(s.Limits.Rate.Burst) + 0.1*float64(s.Limits.Concurrency)/s.Latency.Seconds()*short().Measured.Seconds()
}

// A pool that learns nothing shows the provider as it is: the server's ledger,
// in virtual time, and the simulator have to say the same about it. So they do about
// a model of a peer that is driven over HTTP, of which the one without chance is played.
func TestTheSimulatorPlaysTheSameProvider(t *testing.T) {
	differs := false
	for _, c := range []Contender{retryPool(), peer("Nall", "")} {
		for _, s := range Scenarios() {
			t.Run(s.Name+"/"+c.Name, func(t *testing.T) {
				run := samePlay(t, &s, &c)
				differs = differs || run.Figures != run.First // some are the same by chance
			})
		}
	}
	assert.True(t, differs, "the beginning is measured by itself")
}

func samePlay(t *testing.T, s *Scenario, c *Contender) Run {
	t.Helper()
	times := Times{WarmUp: 5 * time.Second, Measured: 30 * time.Second}
	var ours Run
	synctest.Test(t, func(t *testing.T) {
		var err error
		ours, err = measure(t.Context(), s, c, times, 1, inProcess)
		require.NoError(t, err)
	})
	simulated, err := simulate(s, *c.Simulated, times, 1)
	require.NoError(t, err)
	assert.InDelta(t, ours.Goodput, simulated.Goodput, closeEnough)
	assert.InDelta(t, ours.Refused, simulated.Refused, closeEnough)
	assert.InDelta(t, ours.Jain, simulated.Jain, 0.1)
	assert.Positive(t, ours.First.Goodput)
	return ours
}
