package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// Processes that know nothing of each other get nearly the same of a fast limit, although the first one has had all of it.
func TestAFastLimitIsSharedEvenly(t *testing.T) {
	const from, to = 5 * time.Minute, 10 * time.Minute
	for _, c := range []struct {
		law         string
		processes   int
		rate, burst float64 // calls per second, and calls in the bucket
	}{
		{law.Blind, 4, 100, 20},
		{law.Headers, 2, 200, 100},
	} {
		s := client.Setting{
			Provider: provider.Config{Requests: provider.Bucket{PerMinute: 60 * c.rate, Burst: c.burst}, RetryAfter: provider.WholeSeconds},
			Latency:  250 * time.Millisecond, Refusal: 150 * time.Millisecond, Net: 20 * time.Millisecond,
			Processes: c.processes, Pool: 32, Lasts: to,
		}
		var even float64
		const seeds = 4
		for seed := range uint64(seeds) {
			var sum, squares float64
			began := map[int]int{}
			_, err := client.Run(s, laws(c.law)[0], seed+1, client.Watch{Every: from, See: func(x client.Sample) {
				admitted := x.Result.Cold.Admitted + x.Result.Measured.Admitted
				if x.At == from {
					began[x.Process] = admitted
				}
				if x.At == to {
					got := float64(admitted - began[x.Process])
					sum += got
					squares += got * got
				}
			}})
			assert.NoError(t, err)
			even += sum * sum / squares / float64(c.processes) / seeds
		}
		assert.Greater(t, even, 0.85, "Jain's index, %s: %d processes, %g/s", c.law, c.processes, c.rate)
	}
}
