package rival

import "time"

// classic is AIMD as it is commonly written: half at a refusal, a fifth more
// after ten successes, in whole numbers. So it sticks below five.
type classic struct{ size, successes int }

func (c *classic) most() int { return c.size }

func (c *classic) sample(_, _ time.Duration, _ int, refused bool) {
	if refused {
		c.size, c.successes = max(1, c.size/2), 0
		return
	}
	if c.successes++; c.successes >= 10 {
		c.size, c.successes = min(mostWorkers, int(float64(c.size)*1.2)), 0
	}
}

// netflixAIMD is AIMDLimit of Netflix concurrency-limits, which may fall to 1
// here instead of the library's 20.
type netflixAIMD struct{ size int }

// netflixTimeout is what it takes for a loss.
const netflixTimeout = 5 * time.Minute

func (n *netflixAIMD) most() int { return n.size }

func (n *netflixAIMD) sample(_, took time.Duration, inFlight int, refused bool) {
	switch {
	case refused || took > netflixTimeout:
		n.size = int(float64(n.size) * 0.9)
	case inFlight*2 >= n.size:
		n.size++
	}
	n.size = min(mostWorkers, max(1, n.size))
}
