package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// A limit that has fallen rejects calls at several paces in a row, as random rejections do, until the pace is below it.
func TestALimitThatFallsIsNotTakenForRandomRejections(t *testing.T) {
	const phase = 14 * time.Second
	for _, rates := range [][]float64{{68, 32, 67, 37}, {50, 33, 57, 31}} { // calls per second, and calls in the bucket
		s := client.Setting{
			Provider: provider.Config{Requests: provider.Bucket{PerMinute: 60 * rates[0], Burst: rates[0]}, Names: provider.RequestsOnly},
			Latency:  200 * time.Millisecond, Refusal: 5 * time.Millisecond, Net: time.Millisecond, Processes: 1, Pool: 32, Lasts: time.Second,
		}
		for i, rate := range rates[1:] {
			s.Changes = append(s.Changes, provider.Change{At: time.Duration(i+1) * phase, Factor: rate / rates[i]})
		}
		for seed := range uint64(5) {
			by := map[time.Duration]client.Tally{}
			_, err := client.Run(s, laws(law.Blind)[0], seed+1, client.Watch{Every: phase, See: func(x client.Sample) {
				by[x.At] = x.Result.Cold
			}})
			assert.NoError(t, err)
			before, after := by[3*phase], by[4*phase] // the last fall
			rejected, all := after.Refused-before.Refused, after.Attempts-before.Attempts
			assert.Positive(t, rejected)
			assert.Less(t, float64(rejected), 0.05*float64(all), "from %g to %g/s, seed %d", rates[2], rates[3], seed+1)
		}
	}
}
