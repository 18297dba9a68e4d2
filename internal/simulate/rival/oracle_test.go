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

// What the limits of each of these members allow in the measured time, counted
// by hand. The round trip is 1.04 s, 100.04 s where calls take 100 s.
func TestTheOracleGetsWhatIsCountedByHand(t *testing.T) {
	want := map[string]float64{
		"01 2/s and 2,000/h of the clock":               3 * 2000,
		"01 2/s and 1,000/h refilled":                   3 * 1000,       // the first 1,000 last beyond the warm-up: see below
		"01 10/s and 1,000 in 15 min, exactly":          5 * 1000,       // at 15, 30, 45, 60 and 75 min of 90
		"01 1/s and 10,000 a day":                       10_000,         // of the second window
		"01 5/s and 5,000/h from the first call, shown": 3*5000 - 120*5, // less the warm-up's
		"02 10/s b5 and 300/min refilled, silent":       20 * 300,       // the first 300 are gone
		"02 3/s, 60/min and 1,000/h of the clock":       2 * 1000,       // 60 a minute for 17 minutes of an hour
		"02 5 in a second and 100 in a minute, silent":  20 * 100,       // 20 s of each minute
		"03 30 % 429":                                   20 * 600, // the oracle sends what is spared
		"03 60 % 429 beside a cap of 20":                20 * 60 * 20 / 1.04,
		"05 plain 503":                                  20 * 60 * 16, // sixteen workers, a call a second each
		"07 Retry-After always a century":               20 * 600,
		"07 headers of a tenth of the quota":            20 * 600,
		"08 100/min x10":                                5*100 + 15*1000,
		"08 600/min /10, x10":                           5*600 + 5*60 + 10*600,
		"08 2 min of 429":                               18*600 + 10, // and what the bucket holds after them
		"08 20 min of 529":                              20*600 + 10, // of forty
		"09 20, 60, 15":                                 (5*20 + 7*60 + 8*15) * 60 / 1.04,
		"09 10 beside 10/s":                             20 * 60 * 10 / 1.04,
		"09 20, 40 beside 25/s":                         (8*20/1.04 + 12*25) * 60,
		"10 16 on a cap of 64":                          20 * 60 * 64 / 1.04,
		"10 4 on 600 a minute of the clock":             20 * 600,
		"11 3/min b1":                                   60 * 3,
		"11 1 in 20 s of the clock":                     60 * 3,
		"11 2,000/s b200":                               60 * 2000,
		"11 calls of 100 s, a cap of 40":                3600 * 40 / 100.04,
		"11 calls of 100 s, a cap of 60 beside 30/min":  60 * 30,
		"13 1 % 529, 20/s":                              20 * 1200,
		"14 nginx limit_req 10/s burst=20 nodelay: 503": 8 * 600,
		"14 Discord: 5 in 5 s of a route, 50/s of all":  20 * 60,
		"14 GitHub search: 30/min":                      20 * 30,
	}
	want["01 2/s and 1,000/h refilled"] += 1000 + 2*60*1000./3600 - 2*60*2 - 10 // full at first; 2/s and 10 at once in the warm-up
	for _, f := range scenario.Families() {
		for _, s := range f.Members {
			allowed, counted := want[s.Name]
			if !counted {
				continue
			}
			delete(want, s.Name)
			got := admitted(t, s, rival.Oracle(), 1)
			assert.InEpsilon(t, allowed, got.Admitted, 0.015, s.Name)
		}
	}
	assert.Empty(t, want, "no such member")
}

// Whatever the world is like, the oracle is never rejected: it foresees all that
// happens to a call.
func TestTheOracleIsNeverRejected(t *testing.T) {
	var all []scenario.Scenario
	for _, f := range scenario.Families() {
		all = append(all, f.Members...)
	}
	for i := range 60 {
		all = append(all, scenario.Harsher(i))
	}
	for _, s := range all {
		if s.Provider.Requests.PerMinute > 20_000 {
			continue // as the others, at a hundred times the length
		}
		s.Lasts = min(s.End()-client.WarmUp, 8*time.Minute)
		got := admitted(t, s, rival.Oracle(), 2)
		assert.Zero(t, got.Refused, "%s: %s", s.Name, s.About)
	}
}

// No rival gets more out of a member than the oracle, but for a call at the door
// when a place of a cap becomes free, for which the oracle's own is on its way.
// With tokens it may let small calls pass.
func TestTheOracleIsAnUpperBound(t *testing.T) {
	for i, f := range scenario.Families() {
		for k, s := range f.Members {
			if s.Shared() || s.Tokens || s.Provider.Requests.PerMinute > 20_000 {
				continue
			}
			s.Lasts = min(s.End()-client.WarmUp, 5*time.Minute)
			greedy := rival.All()[[...]int{0, 2, 4, 5, 8}[(i+k)%5]]
			best, got := whole(t, s, rival.Oracle()), whole(t, s, greedy)
			door := 1.05
			if s.Provider.Cap > 0 {
				door += (s.Transit.Low + s.Transit.High).Seconds() / s.Latency.Seconds() // there and back
			}
			assert.LessOrEqual(t, float64(got), door*float64(best)+1, "%s: %s", s.Name, greedy.Name)
		}
	}
}

// whole is what a contender gets from the beginning of a run on.
func whole(t *testing.T, s scenario.Scenario, c client.Contender) (n int) {
	t.Helper()
	results, err := client.Run(s.Setting, c, 3, client.Watch{})
	require.NoError(t, err)
	for _, r := range results {
		n += r.Cold.Admitted + r.Measured.Admitted
	}
	return n
}

// Processes still use all places of a cap that is not a multiple of their number.
func TestOraclesShareEveryPlace(t *testing.T) {
	s := scenario.Scenario{Setting: client.Setting{
		Provider: provider.Config{Cap: 22}, Latency: time.Second, Processes: 16,
	}}
	got := admitted(t, s, rival.Oracle(), 1)
	assert.Zero(t, got.Refused)
	assert.InEpsilon(t, 22*client.Measured.Seconds(), got.Admitted, 0.02)
}
