package flow

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSpeed(t *testing.T) {
	const sec = time.Second
	s := newSpeed(10 * sec)
	require.Zero(t, s.rate(10*sec, 5), "no time has passed")
	require.Zero(t, s.eta(10*sec+sec/2, 5, 100), "not in the first second")
	require.Zero(t, s.eta(12*sec, 0, 100), "nothing has ended")
	require.Equal(t, 2.0, s.rate(15*sec, 10)) //nolint:testifylint // 10/5 is exact
	require.Equal(t, 50*sec, s.eta(15*sec, 10, 100))
	require.Zero(t, s.eta(15*sec, 10, 0), "nothing is left")
	require.Zero(t, s.eta(15*sec, 10, -1))
	require.Equal(t, 3*sec+sec/2, s.eta(15*sec, 10, 7))
	require.Equal(t, time.Duration(333333334), s.eta(13*sec, 9, 1), "rounded up")
	require.Zero(t, s.eta(1e6*sec, 1, math.MaxInt64), "beyond what a Duration holds")

	s.observe(15*sec, 10)
	s.observe(16*sec, 20)
	require.Equal(t, 0.0, s.rate(76*sec, 20), "from 16 s on: nothing in the last minute") //nolint:testifylint // exact
	require.Equal(t, 33*sec, s.eta(76*sec, 20, 10), "by 20 in all the 66 s")
	require.Equal(t, 10.0/60, s.rate(75*sec, 20), "from 15 s on") //nolint:testifylint // exact
}

// seen is one look at a run, as the model keeps it: all of them.
type seen struct {
	at    time.Duration
	count int64
}

// The oracle keeps every mark and looks for the one that a rate is measured from.
func TestSpeedLikeOneThatForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "begin"))
		s, all := newSpeed(begin), []seen{{begin, 0}}
		at, count := begin, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "looks") {
			at += time.Duration(rapid.OneOf(
				rapid.Int64Range(0, int64(2*time.Second)), rapid.Just(int64(time.Second)), rapid.Int64Range(0, int64(3*time.Minute)),
			).Draw(t, "later"))
			count += rapid.SampledFrom([]int64{0, 0, 1, 5, 1000}).Draw(t, "more")
			left := rapid.Int64Range(0, 1e6).Draw(t, "left")

			base := all[0]
			for _, m := range all {
				if at-m.at >= time.Minute {
					base = m
				}
			}
			want := 0.0
			if at > base.at {
				want = float64(count-base.count) / (at - base.at).Seconds()
			}
			require.InDelta(t, want, s.rate(at, count), 1e-9*want)

			whole := want
			if whole == 0 && at > begin {
				whole = float64(count) / (at - begin).Seconds()
			}
			eta := s.eta(at, count, left)
			if left == 0 || whole == 0 || at-begin < time.Second {
				require.Zero(t, eta)
			} else {
				require.InDelta(t, float64(left)/whole, eta.Seconds(), 2e-9+1e-9*float64(left)/whole)
			}
			s.observe(at, count)
			if at-all[len(all)-1].at >= time.Second {
				all = append(all, seen{at, count})
			}
			require.LessOrEqual(t, len(s.marks), 62)
		}
	})
}
