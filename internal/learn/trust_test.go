package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// broken counts the refusals until the headers are ignored, with so many calls
// taken before each; -1: after a thousand they are not.
func broken(t *Trust, now float64, taken int) int {
	for n := 1; n <= 1000; n++ {
		for range taken {
			t.Taken(now)
		}
		if t.Broken(now); t.Ignored(now) {
			return n
		}
	}
	return -1
}

func TestHeadersThatPromiseWhatIsRefusedAreIgnored(t *testing.T) {
	for name, c := range map[string]struct{ taken, want int }{
		"every other call":   {1, 8},
		"one call in four":   {3, 11},
		"one call in twenty": {19, -1},
		"an outage":          {0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, broken(new(Trust), 0, c.taken))
		})
	}
}

func TestHeadersAreIgnoredForLongerEachTime(t *testing.T) {
	var tr Trust
	now := 0.0
	for i, want := range []float64{30, 60, 120, 240, 480, 960, 1800, 1800} {
		assert.Positive(t, broken(&tr, now, 1))
		assert.True(t, tr.Ignored(now+want-0.1), "time %d", i)
		now += want
		assert.False(t, tr.Ignored(now), "time %d", i)
	}
}

func TestHeadersThatWereTrueForLongAreIgnoredBriefly(t *testing.T) {
	var tr Trust
	assert.Positive(t, broken(&tr, 0, 1))
	assert.Positive(t, broken(&tr, 30, 1))
	assert.True(t, tr.Ignored(30+59))
	for range 2 * recent {
		tr.Taken(90 + 121)
	}
	assert.Positive(t, broken(&tr, 90+121, 1))
	assert.False(t, tr.Ignored(90+121+30), "they have been true for twice as long as they were ignored")
}

// It takes about half a minute of rejections to find out that headers are untrue, which is as long as they are ignored at first.
func TestTheTimeToFindOutIsNoTimeInWhichTheyAreTrue(t *testing.T) {
	var tr Trust
	now := 0.0
	for _, want := range []float64{30, 60, 120} {
		assert.Positive(t, broken(&tr, now+31, 1))
		now += 31 + want
		assert.True(t, tr.Ignored(now-0.1))
		assert.False(t, tr.Ignored(now))
	}
}

// At a slow limit it takes minutes of rejections, which are no time in which the headers are true either. What made them
// untrue before counts when they are used again, so that it takes fewer.
func TestHeadersOfASlowLimitAreIgnoredForLongerEachTime(t *testing.T) {
	var tr Trust
	now := 0.0
	for _, c := range []struct {
		pause      float64
		rejections int
	}{{30, 8}, {60, 5}, {120, 5}} {
		n := 0
		for ; !tr.Ignored(now) && n < 100; n++ {
			now += 20
			tr.Taken(now)
			tr.Broken(now)
		}
		assert.InDelta(t, c.pause, tr.pause, 0)
		assert.Equal(t, c.rejections, n)
		now += c.pause
	}
}

func TestHeadersThatAreTooLowNowAndThenAreIgnoredForAQuarterOfAnHour(t *testing.T) {
	for between, want := range map[float64]float64{remembered: 2 * remembered, 2*remembered + 1: remembered} {
		var tr Trust
		tr.Low(0)
		for range 2 * recent {
			tr.Taken(remembered + between)
		}
		tr.Low(remembered + between)
		assert.InDelta(t, want, tr.pause, 0)
	}
}
