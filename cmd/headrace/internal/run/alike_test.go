package run_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

// Whatever the order in which requests end, the run stops once 20 have failed in the same way, none has ended differently,
// and none that was sent before the last of these 20 is in flight.
func TestAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a run.Alike
		var out, failed []int64
		mixed, stopped := false, false
		good := rapid.IntRange(0, 40).Draw(t, "one in so many succeeds")
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			if len(out) == 0 || len(out) < 12 && rapid.Bool().Draw(t, "send") {
				out = append(out, a.Sent())
				continue
			}
			i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
			number := out[i]
			out = slices.Delete(out, i, i+1)
			switch what := rapid.IntRange(0, 60).Draw(t, "what"); {
			case what < 10: // it is retried
			case what == 10 && !stopped:
				mixed = true
				require.False(t, a.Fails(number, "another"))
			case what == 11 && good > 0:
				mixed = true
				a.Succeeded()
			default:
				failed = append(failed, number)
				slices.Sort(failed)
				early := func(n int64) bool { return n < failed[19] }
				if !mixed && !stopped {
					stopped = len(failed) >= 20 && !slices.ContainsFunc(out, early)
				}
				require.Equal(t, stopped, a.Fails(number, "status_404"))
			}
			a.Ended(number)
		}
	})
}
