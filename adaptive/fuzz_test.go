package adaptive_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Saved data gives either an error that names the controller, or a state with finite
// numbers, which works and can be saved and restored again.
func FuzzRestore(f *testing.F) {
	laws := []adaptive.Law{adaptive.AIMD{}, adaptive.Measured{}, adaptive.Measured{
		Initial: 2, Max: 16, Prior: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(300, time.Minute), throttle.Sliding(40_000, time.Minute).Of(throttle.Tokens)}},
	}}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, saved []byte) {
		for _, law := range laws {
			state, err := law.(adaptive.Restorer).Restore(now, 1, saved)
			if err != nil {
				found, ok := errors.AsType[*adaptive.SavedError](err)
				require.True(t, ok, "%T", err)
				require.NotEmpty(t, found.Law)
				require.Nil(t, state)
				continue
			}
			again := resaved(t, state, now)
			work(t, state, now)
			resaved(t, state, now.Add(time.Hour))
			state, err = law.(adaptive.Restorer).Restore(now, 1, again)
			require.NoError(t, err)
			require.Equal(t, string(again), string(resaved(t, state, now)))
		}
	})
}

// resaved is what a state saves, which is never an error.
func resaved(t *testing.T, state adaptive.State, now time.Time) []byte {
	t.Helper()
	saved, err := state.(adaptive.Saver).Save(now)
	require.NoError(t, err)
	return saved
}

// work sends calls for up to an hour, of which one in eight is rejected.
func work(t *testing.T, state adaptive.State, now time.Time) {
	t.Helper()
	end := now.Add(time.Hour)
	var total throttle.Cost
	for seq := int64(1); seq <= 64 && now.Before(end); seq++ {
		cost := throttle.Cost{Requests: 1, Tokens: 100}
		wait := state.Admit(now, cost, 0)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.Less(t, wait, throttle.Forever, "with no call in flight there is nothing to wait for")
		sane(t, state.View())
		if wait > 0 {
			now = now.Add(min(wait, time.Hour))
			continue
		}
		total.Tokens += 100
		sent := throttle.Sent{Seq: seq, At: now, Cost: cost, Total: total}
		state.OnSend(now, sent)
		now = now.Add(300 * time.Millisecond)
		feedback := adaptive.Feedback{Verdict: adaptive.OK, Used: throttle.Cost{Tokens: 80}}
		if seq%8 == 0 {
			feedback = adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Second}
		}
		state.OnResult(now, sent, 0, feedback)
		sane(t, state.View())
	}
}

func sane(t *testing.T, v adaptive.View) {
	t.Helper()
	require.GreaterOrEqual(t, v.Concurrency, 1)
	for _, pace := range v.Pace {
		require.False(t, pace < 0 || math.IsNaN(pace) || math.IsInf(pace, 0), "%v", pace)
	}
}

// What an error says is judged by its words, whatever they are, and a quotation
// does not change it.
func FuzzText(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		got := adaptive.DefaultDetector(errors.New(text))
		require.Contains(t, []adaptive.Verdict{
			adaptive.Unclassified, adaptive.Hit, adaptive.Overloaded, adaptive.Terminal, adaptive.Transient,
		}, got.Verdict, text)
		require.Zero(t, got.RetryAfter)
		if strings.ContainsAny(text, "\"\\`'") {
			return
		}
		quoted := adaptive.DefaultDetector(errors.New(`the model wrote "so: ` + text + `" and nothing else`))
		require.Equal(t, adaptive.Unclassified, quoted.Verdict, text)
	})
}
