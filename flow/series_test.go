package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/event"
)

func at(d time.Duration, final bool) *event.Progress {
	n := int64(d / time.Millisecond)
	return &event.Progress{
		Elapsed: d, Final: final,
		Nodes: []event.NodeProgress{{Name: "step", Runs: 1}, {Name: "b", Items: event.Items{Done: n, Resumed: 1, Failed: 2}}},
		Limiters: []event.LimiterProgress{
			{Name: "l", Live: true, Limit: 4, InFlight: 2, Waiting: 1, Calls: n, Hits: 3, Pace: map[string]float64{"requests": 0.5, "tokens": 9}},
			{Name: "l", Live: true, Limit: 1, Hits: 3},
		},
	}
}

func TestASeriesDropsEverySecondMomentWhenItIsFull(t *testing.T) {
	r := newRecorder()
	for s := range 600 {
		r.record(at(time.Duration(s)*time.Second, false))
	}
	require.Len(t, r.moments, 600)
	require.Equal(t, time.Second, r.series().Interval)

	r.record(at(600*time.Second, false))
	s := r.series()
	require.Len(t, s.At, 301)
	require.Equal(t, 2*time.Second, s.Interval)
	require.Equal(t, []time.Duration{0, 2 * time.Second}, s.At[:2])
	require.Equal(t, 600*time.Second, s.At[300])

	r.record(at(601*time.Second, false)) // not due
	require.Len(t, r.moments, 301)
	r.record(at(601*time.Second, true)) // the last one always is
	require.Equal(t, 601*time.Second, r.series().At[301])
}

func TestTheColumnsOfASeries(t *testing.T) {
	r := newRecorder()
	r.record(&event.Progress{}) // before there was anything
	r.record(at(time.Second, false))
	r.record(at(1500*time.Millisecond, false)) // not due
	r.record(at(3*time.Second, false))
	r.record(at(3*time.Second, true)) // in the place of the one before
	require.Equal(t, &Series{
		Interval: time.Second,
		At:       []time.Duration{0, time.Second, 3 * time.Second},
		Nodes:    map[string]NodeSeries{"b": {Done: []int64{0, 1001, 3001}, Failed: []int64{0, 2, 2}}},
		Limiters: map[string]LimiterSeries{"l": {
			Limit: []int{0, 5, 5}, InFlight: []int{0, 2, 2}, Waiting: []int{0, 1, 1},
			Pace: []float64{0, 0.5, 0.5}, Rate: []float64{0, 1000, 1000}, Hits: []int64{0, 3, 3},
		}},
	}, r.series())
}

// However long a run takes, and however late the first snapshot.
func TestASeriesIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRecorder()
		late := rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "late")
		now := time.Duration(0)
		looks := rapid.IntRange(1, 4000).Draw(t, "looks")
		for i := range looks {
			r.record(at(now, i == looks-1))
			require.LessOrEqual(t, len(r.moments), maxMoments)
			if i < looks-1 {
				now += time.Second + time.Duration(int64(i)*7919%(late+1))
			}
		}
		s := r.series()
		require.Zero(t, s.At[0])
		require.Equal(t, now, s.At[len(s.At)-1])
		for i := 1; i < len(s.At)-1; i++ {
			gap := s.At[i] - s.At[i-1]
			require.Positive(t, gap)
			require.LessOrEqual(t, gap, 2*s.Interval+4*time.Second, "a look is missed only if nobody looked")
		}
		if late == 0 && looks > maxMoments {
			require.Greater(t, len(s.At), maxMoments/2)
			for i := range len(s.At) - 1 {
				require.Equal(t, time.Duration(i)*s.Interval, s.At[i])
			}
		}
	})
}

func TestAfter(t *testing.T) {
	for _, tc := range []struct{ t, step, now, want time.Duration }{
		{0, 1, 0, 1},
		{5, 2, 4, 5},
		{5, 2, 5, 7},
		{5, 2, 6, 7},
		{5, 2, 7, 9},
		{0, 10, 99, 100},
	} {
		require.Equal(t, tc.want, after(tc.t, tc.step, tc.now), tc)
	}
}
