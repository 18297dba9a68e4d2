package guardtest

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/guard"
)

// workers is how many workers a door has for the calls of crowdedCases.
const workers = 2

// crowdedCases have more calls than there are workers.
func crowdedCases() []testCase {
	slow, fast := &guard.Policy{Name: "slow", Limits: sliding(1, time.Minute)}, &guard.Policy{Name: "fast", Limits: sliding(100, time.Second)}
	return []testCase{{
		"a call that waits occupies no worker", given(guard.Policy{}),
		slices.Concat(times(5*workers, Call{Key: slow}), times(5, Call{Key: fast, At: time.Second})),
		func(t *testing.T, o []Outcome) {
			t.Helper()
			for _, one := range o[5*workers:] {
				equal(t, []time.Duration{time.Second}, one.Sent)
			}
		},
	}}
}
