package goodput

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/providertest"
)

// The figures of the ledger add up over real HTTP too, for any caller. How much it
// is depends on the machine, so that only what cannot be exceeded is compared,
// and a machine that is busy may get nothing at all through for some of them.
// All run at once, for they mostly wait.
func TestTheAccounts(t *testing.T) {
	times := Times{WarmUp: time.Second, Measured: time.Second}
	var runs sync.WaitGroup
	var admitted atomic.Int64
	for _, s := range Scenarios() {
		for _, c := range Contenders() {
			runs.Go(func() {
				about := s.Name + ", " + c.Name
				ledger, begin, err := play(t.Context(), &s, &c, times, 1, loopback)
				if !assert.NoError(t, err) {
					return
				}
				audit(t, &s, times, ledger, begin, about)
				admitted.Add(int64(ledger.Admitted))
			})
		}
	}
	runs.Wait()
	assert.Positive(t, admitted.Load())
}

func audit(t *testing.T, s *Scenario, times Times, ledger providertest.Ledger, begin time.Time, about string) {
	t.Helper()
	assert.Equal(t, ledger.Arrivals, ledger.Admitted+ledger.Refused+ledger.Invalid, about)
	assert.Zero(t, ledger.InFlight, about)

	cold := count(ledger, begin, begin.Add(times.WarmUp), s.processes())
	got := count(ledger, begin.Add(times.WarmUp), begin.Add(times.end()), s.processes())
	late := count(ledger, begin.Add(times.end()), begin.Add(time.Hour), s.processes())
	assert.Equal(t, ledger.Admitted, cold.admitted+got.admitted+late.admitted, about)
	assert.Equal(t, ledger.Refused, cold.refused+got.refused+late.refused, about)
	sum := 0
	for _, n := range got.by {
		sum += n
	}
	assert.Equal(t, got.admitted, sum, about)
	if s.Limits.Concurrency > 0 {
		assert.LessOrEqual(t, ledger.PeakInFlight, s.Limits.Concurrency, about)
		return
	}
	most := s.oracle(times, s.Latency) + float64(s.Limits.Rate.Burst+s.Limits.Window.Max)
	assert.LessOrEqual(t, float64(got.admitted), most, about)
}
