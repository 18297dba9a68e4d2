package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// sendGaps has calls leave so many seconds after one another.
func sendGaps(c *Crowd, gaps ...float64) (last Call) {
	for _, gap := range gaps {
		last.Seq++
		last.At += gap
		c.Sent(last)
	}
	return last
}

func even(n int, gap float64) []float64 {
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = gap
	}
	return gaps
}

func TestRankOfACall(t *testing.T) {
	for _, c := range []struct {
		name string
		gaps []float64
		want float64
		ok   bool
	}{
		{"evenly apart", even(100, 1), 0.5, true},
		{"close behind others", append(even(100, 1), even(4, 0.125)...), 0.5 / 100, true},
		{"far behind others", append(even(100, 1), 60), 36.5 / 37, true},
		{"too few to tell", even(34, 1), 0, false},
		{"just enough", append(even(34, 1), 60), 30.5 / 31, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k Crowd
			rank, ok := k.Rank(sendGaps(&k, c.gaps...))
			assert.Equal(t, c.ok, ok)
			if ok {
				assert.InDelta(t, c.want, rank, 1e-9)
			}
		})
	}
}

// Rank against a reading of its definition from the whole list of calls.
func TestRankIsTheLowestOfThreeDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1, 2, 8}), 110, 600).Draw(t, "gaps")
		var k Crowd
		last := sendGaps(&k, gaps...)
		at := make([]float64, len(gaps)+1)
		for i, gap := range gaps {
			at[i+1] = at[i] + gap
		}
		seq := int(last.Seq) - rapid.IntRange(0, min(20, len(gaps)-1)).Draw(t, "ago")
		want, wantOK := 1.0, false
		oldest := max(1, int(last.Seq)-255)
		for _, back := range []int{4, 16, 64} {
			first := oldest + back
			if seq < first || int(last.Seq)-first < recent {
				break
			}
			less, all := 0.0, 0
			for s := first; s <= int(last.Seq); s++ {
				all++
				switch x, own := at[s]-at[s-back], at[seq]-at[seq-back]; {
				case x < own:
					less++
				case x == own:
					less += 0.5
				}
			}
			want, wantOK = min(want, less/float64(all)), true
		}
		rank, ok := k.Rank(Call{Seq: int64(seq), At: at[seq]})
		assert.Equal(t, wantOK, ok)
		assert.InDelta(t, want, rank, 1e-9)
	})
}

func TestHowManyHadLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		gaps   []float64
		by     float64
		newest int
		want   float64
	}{
		{"none has left", nil, 9, 5, 0},
		{"some of them", even(10, 1), 7, 5, 2},
		{"at that moment", even(10, 1), 6, 5, 1},
		{"all", even(10, 1), 10, 5, 5},
		{"more than are known", even(10, 1), 7, 50, 7},
		{"together", even(10, 0), 0, 5, 5},
		{"more than are kept", even(1000, 1), 1000, 500, crowdCalls},
		{"all that are kept are newer", even(1000, 1), 1000 - crowdCalls, 500, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k Crowd
			sendGaps(&k, c.gaps...)
			assert.InDelta(t, c.want, k.Left(c.by, c.newest), 0)
		})
	}
}
