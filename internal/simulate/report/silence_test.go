package report_test

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

var drawn = flag.Int("providers", 20, "how many providers TestNothingWaitsForEver draws; TestEveryHistoryEnds draws a tenth of them")

// patience is how much longer than the oracle a law may go without an admitted call:
// a refusal may ask for an hour without need.
const patience = time.Hour + 15*time.Minute

func TestNothingWaitsForEver(t *testing.T) {
	worlds := make(chan scenario.Scenario)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for w := range worlds {
				most := silence(t, &w, rival.Oracle()) + patience
				for _, c := range law.All() {
					if c.Name == law.Blind || c.Name == law.Headers {
						assert.LessOrEqual(t, silence(t, &w, c), most, "%s at %s: %s", c.Name, w.Name, w.About)
					}
				}
			}
		})
	}
	const judged = 1_000_000 // tuning is done below
	for i := range *drawn / 2 {
		worlds <- scenario.Random(judged + i)
		worlds <- scenario.Harsher(judged + i)
	}
	close(worlds)
	workers.Wait()
}

// silence is the longest time without an admitted call, of the process that did best.
func silence(t *testing.T, s *scenario.Scenario, c client.Contender) time.Duration {
	t.Helper()
	results, err := client.Run(s.Setting, c, 1, client.Watch{})
	assert.NoError(t, err)
	least := s.End()
	for _, r := range results {
		least = min(least, r.Silence)
	}
	return least
}
