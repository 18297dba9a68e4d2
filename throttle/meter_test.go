package throttle

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
		{"nothing before", nil, Sliding(5, second), 0, -1},
		{"another unit", []Window{Sliding(5, second).Of(Tokens)}, Sliding(5, second), 0, -1},
		{"the same unit among others", []Window{Sliding(5, second).Of(Tokens), Sliding(5, second)}, Sliding(6, second), 0, 1},
		{"the same period", []Window{Sliding(5, second), Sliding(100, minute)}, Sliding(50, minute), 0, 1},
		{"no period alike: the one that looks back farthest", []Window{Sliding(5, second), Sliding(100, minute), Sliding(9, 2*second)}, Sliding(50, 3*second), 0, 1},
		{"the same algorithm before another", []Window{Bucket(5, 5), Sliding(100, minute)}, Sliding(50, second), 0, 1},
		{"also before one that looks back farther", []Window{Fixed(100, time.Hour, time.Time{}), Sliding(5, second)}, Sliding(50, minute), 0, 1},
		{"several of another algorithm, by their place", []Window{Bucket(5, 5), Bucket(7, 9)}, Sliding(50, second), 1, 1},
		{"another algorithm before nothing", []Window{Bucket(5, 5)}, Sliding(50, second), 0, 0},
		{"buckets by their rate", []Window{Bucket(10, 20), Bucket(2, 1000)}, Bucket(2, 500), 0, 1},
		{"buckets by their burst", []Window{Bucket(10, 20), Bucket(2, 1000)}, Bucket(1, 1000), 0, 1},
		{"buckets, nothing alike, by their place", []Window{Bucket(10, 20), Bucket(2, 1000)}, Bucket(1, 500), 1, 1},
		{"buckets, the first of several", []Window{Bucket(10, 20), Bucket(2, 1000)}, Bucket(1, 500), 7, 0},
		{"the very same before one of its rate", []Window{Bucket(10, 20), Bucket(10, 1000)}, Bucket(10, 1000), 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var old []gauge
			for i, w := range tc.old {
				g := frame{}.gauge(w, 0)
				g.meter.take(0, int64(i)+1) // so that each is told by what it spent
				old = append(old, g)
			}
			g := frame{}.gauge(tc.new, 9)
			g.inherit(0, old, tc.i)
			left := tc.new.max - g.meter.spent(0)
			switch {
			case tc.want < 0:
				assert.Equal(t, tc.new.max, left)
				assert.Equal(t, int64(9), g.since, "older calls have nothing to get back")
			case tc.new.algorithm == tokenBucket:
				kept := tc.old[tc.want].max - int64(tc.want) - 1
				assert.Equal(t, min(tc.new.max, kept), left)
				assert.Equal(t, kept > tc.new.max, g.since == 9, "what overflowed cannot be given back")
				assert.True(t, g.since == 0 || g.since == 9)
			default:
				assert.Equal(t, int64(tc.want)+1, g.meter.spent(0))
			}
		})
	}
}

func TestInheritFromAnotherAlgorithm(t *testing.T) {
	s := frame{}.gauge(Sliding(100, time.Minute), 0)
	s.meter.take(0, 70)
	b := frame{}.gauge(Bucket(1, 10), 3)
	b.inherit(second, []gauge{s}, 0)
	assert.Equal(t, int64(10), b.meter.spent(second), "no more than the new maximum")
	assert.Equal(t, int64(3), b.since, "a lump: earlier calls have nothing to get back")

	b = frame{}.gauge(Bucket(1, 100), 3)
	b.inherit(second, []gauge{s}, 0)
	assert.Equal(t, int64(70), b.meter.spent(second))

	n := frame{}.gauge(Sliding(80, time.Minute), 3)
	n.inherit(2*second, []gauge{b}, 0)
	assert.Equal(t, int64(69), n.meter.spent(2*second))
}
