package decide

import (
	"sync"
	"time"
)

// mostEnded bounds the permits of a generation. Two generations take some 150 MB.
const mostEnded = 1 << 21

// ended remembers which permits of this process have ended, by 64 bits of their signatures. A permit is remembered for
// life, or until mostEnded others have ended since.
type ended struct {
	life time.Duration
	most int // of a generation

	mu         sync.Mutex // guards everything below
	young, old map[uint64]struct{}
	begun      time.Duration // when young began
}

func newEnded(life time.Duration) ended { return ended{life: life, most: mostEnded} }

// add notes that a permit ends, and reports whether it had not ended before.
func (e *ended) add(sum uint64, now time.Duration) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, known := e.young[sum]
	if !known {
		_, known = e.old[sum]
	}
	if known {
		return false
	}
	if e.young == nil || now-e.begun >= e.life || len(e.young) >= e.most {
		e.young, e.old, e.begun = map[uint64]struct{}{}, e.young, now
	}
	e.young[sum] = struct{}{}
	return true
}
