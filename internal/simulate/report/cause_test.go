package report_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
)

var seedsOfCauses = flag.Int("seeds", 1, "with how many seeds TestABeliefEndsWithItsCause plays each cause")

const (
	perMinute = 600.                          // calls that are allowed
	begins    = client.WarmUp + 5*time.Minute // the cause
	soon      = 2 * time.Minute               // after it has ended, most laws are back
	atLast    = 4 * time.Minute               // all are
	watched   = 2 * time.Minute               // from then on
)

// cause is rejections that no limit calls for, and that end.
type cause struct {
	provider.Errors

	provider provider.Config
}

func (c *cause) String() string {
	return fmt.Sprintf("%.0f %% %v for %s", 100*c.Share, c.Manner, c.For)
}

// causes are outages, and errors of a part of the calls, of each kind.
func causes() (all []cause) {
	limit := provider.Config{Requests: provider.Bucket{PerMinute: perMinute, Burst: 10}, RetryAfter: provider.WholeSeconds}
	for _, m := range []provider.Manner{
		{Status: provider.TooMany},
		{Status: provider.TooMany, After: 30 * time.Second},
		{Status: provider.Full},
		{Status: provider.Unavailable},
		{Status: provider.Unavailable, After: 2 * time.Second},
	} {
		for _, lasts := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, 2 * time.Hour} {
			all = append(all, cause{Errors: provider.Errors{Manner: m, Share: 1, From: begins, For: lasts}, provider: limit})
		}
		for _, share := range []float64{0.01, 0.1, 0.5, 0.9} {
			all = append(all, cause{Errors: provider.Errors{Manner: m, Share: share, From: begins, For: 5 * time.Minute}, provider: limit})
		}
	}
	for i := range all {
		all[i].provider.Errors = []provider.Errors{all[i].Errors}
	}
	return all
}

// after is the shares of what is allowed that a law gets, soon and at last.
func (c *cause) after(t *testing.T, of client.Contender, seed int) (soonShare, lastShare float64) {
	t.Helper()
	ends := c.From + c.For
	s := client.Setting{
		Provider: c.provider, Latency: time.Second, Refusal: 150 * time.Millisecond, Net: 20 * time.Millisecond,
		Processes: 1, Pool: 32, Lasts: ends + atLast + watched + 10*time.Second - client.WarmUp,
	}
	done := map[time.Duration]int{}
	_, err := client.Run(s, of, uint64(seed), client.Watch{Every: 10 * time.Second, See: func(x client.Sample) {
		done[x.At] = x.Result.Cold.Admitted + x.Result.Measured.Admitted
	}})
	assert.NoError(t, err)
	share := func(from time.Duration) float64 {
		assert.Contains(t, done, from)
		assert.Contains(t, done, from+watched)
		return float64(done[from+watched]-done[from]) / (perMinute * watched.Minutes())
	}
	return share(ends + soon), share(ends + atLast)
}

// What a law has concluded from an outage or from errors is over four minutes after they are: it gets at least 90 %
// of what the provider allows. In most cases two minutes are enough; the others are counted.
func TestABeliefEndsWithItsCause(t *testing.T) {
	type game struct {
		cause
		seed int
		law  client.Contender
	}
	games := make(chan game)
	var played, slow, late atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for g := range games {
				played.Add(1)
				first, last := g.after(t, g.law, g.seed)
				if first < 0.9 {
					slow.Add(1)
					t.Logf("%s has %.0f %% two minutes after %s, seed %d", g.law.Name, 100*first, &g.cause, g.seed)
				}
				if !assert.GreaterOrEqual(t, last, 0.9, "%s after %s, seed %d", g.law.Name, &g.cause, g.seed) {
					late.Add(1)
				}
			}
		})
	}
	for _, c := range causes() {
		for seed := range *seedsOfCauses {
			for _, l := range law.All() {
				if l.Name == law.Blind || l.Name == law.Headers {
					games <- game{c, seed + 1, l}
				}
			}
		}
	}
	close(games)
	workers.Wait()
	t.Logf("scorecard: row=19 causes=%d slow=%d late=%d", played.Load(), slow.Load(), late.Load())
}
