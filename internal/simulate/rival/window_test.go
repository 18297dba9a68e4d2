package rival_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/rival"
)

const second = time.Second

// feed tells w the same n times and returns the sizes it took.
func feed(w rival.Window, n int, took time.Duration, inFlight int, refused bool) (sizes []int) {
	for range n {
		w.Sample(0, took, inFlight, refused)
		sizes = append(sizes, w.Most())
	}
	return sizes
}

func TestClassicAIMD(t *testing.T) {
	w := rival.Classic(20)
	assert.Equal(t, []int{10, 5, 2, 1, 1}, feed(w, 5, second, 1, true))
	assert.Equal(t, 1, feed(w, 100, second, 1, false)[99], "it sticks, as it does where people use it")
	w = rival.Classic(10)
	feed(w, 9, second, 1, false)
	assert.Equal(t, 10, w.Most())
	assert.Equal(t, []int{12}, feed(w, 1, second, 1, false), "after ten")
	feed(w, 9, second, 1, false)
	feed(w, 1, second, 1, true)
	assert.Equal(t, 6, feed(w, 9, second, 1, false)[8], "a refusal begins anew")
	feed(w, 1000, second, 1, false)
	assert.Equal(t, 200, w.Most())
}

func TestNetflixAIMD(t *testing.T) {
	w := rival.NetflixAIMD(20)
	assert.Equal(t, []int{18, 16, 14}, feed(w, 3, second, 1, true))
	assert.Equal(t, []int{14, 14}, feed(w, 2, second, 6, false), "half of it is not used")
	assert.Equal(t, []int{15, 15}, feed(w, 2, second, 7, false))
	assert.Equal(t, []int{13}, feed(w, 1, 6*time.Minute, 15, false), "a timeout is a loss")
	assert.Equal(t, 1, feed(w, 99, second, 1, true)[98])
	assert.Equal(t, 200, feed(w, 999, second, 999, false)[998])
}

func TestVegas(t *testing.T) {
	w := rival.Vegas()
	assert.Equal(t, []int{20}, feed(w, 1, second, 20, false), "the latency without load")
	assert.Equal(t, []int{26}, feed(w, 1, second, 20, false), "no queue: up by beta")
	assert.Equal(t, []int{26}, feed(w, 1, 2*second, 12, false), "half of it is not used")
	assert.Equal(t, []int{25, 24}, feed(w, 2, 2*second, 26, false), "a queue of half: down")
	assert.Equal(t, []int{23}, feed(w, 1, 1001*time.Millisecond, 1, true), "refused: down")
	assert.Equal(t, []int{24}, feed(w, 1, 1080*time.Millisecond, 23, false), "a queue of 2, below alpha: up by one")
	assert.Equal(t, []int{24}, feed(w, 1, 1200*time.Millisecond, 23, false), "a queue of 4, as it should be")
	for range 2000 {
		w.Sample(0, second, 200, false)
	}
	assert.Equal(t, 200, w.Most())
}

func TestGradient2(t *testing.T) {
	w := rival.Gradient2()
	window := 0
	pass := func(took time.Duration, samples, inFlight int) int {
		window++
		for range samples - 1 {
			w.Sample(time.Duration(window)*2*second, took, inFlight, false)
		}
		w.Sample(time.Duration(window)*2*second+second+1, took, inFlight, false)
		return w.Most()
	}
	// The first sample of a pass closes the window of the pass before.
	pass(second, 20, 20)
	assert.Equal(t, 21, pass(second, 20, 20), "20 * 0.8 + 24 * 0.2, twice by now")
	before := w.Most()
	assert.Equal(t, before, pass(second, 5, 20), "too few samples")
	for range 100 {
		pass(second, 20, 200)
	}
	grown := w.Most()
	assert.Greater(t, grown, 50)
	for range 5 {
		pass(10*second, 20, 200)
	}
	assert.Less(t, w.Most(), grown, "latency grew")
	grown = w.Most()
	pass(second, 20, 1)
	assert.Equal(t, grown, pass(second, 20, 1), "half of it is not used")
}
