package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Which of the old windows a new one takes its history from.
func TestInherit(t *testing.T) {
	const minute = time.Minute
	for _, tc := range []struct {
		name string
		old  []Window
		new  Window
		i    int
		want int // index into old, -1: none
	}{
		{"nothing before", nil, slidingWindow(5, second), 0, -1},
		{"another unit", []Window{slidingWindow(5, second).of(tokens)}, slidingWindow(5, second), 0, -1},
		{"the same unit among others", []Window{slidingWindow(5, second).of(tokens), slidingWindow(5, second)}, slidingWindow(6, second), 0, 1},
		{"the same period", []Window{slidingWindow(5, second), slidingWindow(100, minute)}, slidingWindow(50, minute), 0, 1},
		{"no period alike: the one that looks back farthest", []Window{slidingWindow(5, second), slidingWindow(100, minute), slidingWindow(9, 2*second)}, slidingWindow(50, 3*second), 0, 1},
		{"the same algorithm before another", []Window{tokenBucket(5, 5), slidingWindow(100, minute)}, slidingWindow(50, second), 0, 1},
		{"also before one that looks back farther", []Window{calendarWindow(100, time.Hour), slidingWindow(5, second)}, slidingWindow(50, minute), 0, 1},
		{"several of another algorithm, by their place", []Window{tokenBucket(5, 5), tokenBucket(7, 9)}, slidingWindow(50, second), 1, 1},
		{"another algorithm before nothing", []Window{tokenBucket(5, 5)}, slidingWindow(50, second), 0, 0},
		{"buckets by their rate", []Window{tokenBucket(10, 20), tokenBucket(2, 1000)}, tokenBucket(2, 500), 0, 1},
		{"buckets by their burst", []Window{tokenBucket(10, 20), tokenBucket(2, 1000)}, tokenBucket(1, 1000), 0, 1},
		{"buckets, nothing alike, by their place", []Window{tokenBucket(10, 20), tokenBucket(2, 1000)}, tokenBucket(1, 500), 1, 1},
		{"buckets, the first of several", []Window{tokenBucket(10, 20), tokenBucket(2, 1000)}, tokenBucket(1, 500), 7, 0},
		{"the very same before one of its rate", []Window{tokenBucket(10, 20), tokenBucket(10, 1000)}, tokenBucket(10, 1000), 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var old []Gauge
			for i, w := range tc.old {
				g := New(w, time.Time{}, 0, 0)
				g.Take(0, int64(i)+1) // so that each is identified by its spending
				old = append(old, g)
			}
			g := New(tc.new, time.Time{}, 0, 9)
			g.Inherit(0, old, tc.i)
			left := tc.new.Max - g.Spent(0)
			switch {
			case tc.want < 0:
				assert.Equal(t, tc.new.Max, left)
				assert.Equal(t, int64(9), g.since, "older calls have nothing to get back")
			case tc.new.Kind == TokenBucket:
				kept := tc.old[tc.want].Max - int64(tc.want) - 1
				assert.Equal(t, min(tc.new.Max, kept), left)
				assert.Equal(t, kept > tc.new.Max, g.since == 9, "what overflowed cannot be given back")
				assert.True(t, g.since == 0 || g.since == 9)
			default:
				assert.Equal(t, int64(tc.want)+1, g.Spent(0))
			}
		})
	}
}

func TestInheritFromAnotherAlgorithm(t *testing.T) {
	s := New(slidingWindow(100, time.Minute), time.Time{}, 0, 0)
	s.Take(0, 70)
	b := New(tokenBucket(1, 10), time.Time{}, 0, 3)
	b.Inherit(second, []Gauge{s}, 0)
	assert.Equal(t, int64(10), b.Spent(second), "no more than the new maximum")
	assert.Equal(t, int64(3), b.since, "a lump: earlier calls have nothing to get back")

	b = New(tokenBucket(1, 100), time.Time{}, 0, 3)
	b.Inherit(second, []Gauge{s}, 0)
	assert.Equal(t, int64(70), b.Spent(second))

	n := New(slidingWindow(80, time.Minute), time.Time{}, 0, 3)
	n.Inherit(2*second, []Gauge{b}, 0)
	assert.Equal(t, int64(69), n.Spent(2*second))
}
