package throttle

import (
	"math/rand/v2"
	"testing"
)

// script draws what the fuzzer wrote, and at random once that is used up, so
// that every trial comes to an end.
type script struct {
	data []byte
	rest rand.PCG
}

func (s *script) Uint64() uint64 {
	if len(s.data) < 2 {
		return s.rest.Uint64()
	}
	n := uint64(s.data[0])<<56 | uint64(s.data[1])<<48
	s.data = s.data[2:]
	return n
}

// No script of arrivals, ends, cancels, resizes and late timers has a window
// exceeded, a permit leaked or a waiter forgotten.
func FuzzLimiter(f *testing.F) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for kinds := range byte(8) {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(kinds, data)
	}
	f.Fuzz(func(t *testing.T, kinds byte, data []byte) {
		all := []WindowKind{SlidingWindow, TokenBucket, CalendarWindow}
		windows := []WindowKind{all[kinds%3], all[kinds/3%3], all[kinds/9%3]}
		newTrial(t, &script{data: data}, windows[:2+kinds/27%2]).run(1 + len(data)/16)
	})
}
