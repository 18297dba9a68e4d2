package learn

import "sort"

// Crowd tells whether a refusal came where calls crowd. A limit on the rate
// refuses there; a cap on the calls in flight, and chance, refuse anywhere.
type Crowd struct {
	times  [crowdCalls]float64 // when the last calls left, by their numbers
	newest int64
	oldest int64 // 0: none
}

const (
	crowdCalls = 256                               // calls that are kept, a power of two
	crowdNear  = several                           // calls: the time in which the last 4, 16 and 64 left is compared
	crowdFar   = crowdNear * crowdNear * crowdNear // calls back, at most
)

// Sent notes a call.
func (c *Crowd) Sent(x Call) {
	if c.oldest == 0 {
		c.oldest = x.Seq
	}
	c.times[x.Seq&(crowdCalls-1)] = x.At
	c.newest = x.Seq
	c.oldest = max(c.oldest, x.Seq-crowdCalls+1)
}

// Rank is the share of recent calls that had less room before them than the call x: the time in which the last 4, 16 and 64
// calls left, whichever ranks lowest. Half of those with as much room count. ok is false if there are too few calls.
func (c *Crowd) Rank(x Call) (rank float64, ok bool) {
	rank = 1
	for back := int64(crowdNear); back <= crowdFar; back *= crowdNear {
		first := c.oldest + back
		if x.Seq < first || c.newest-first < recent {
			break
		}
		room, less := c.room(x.Seq, back), 0.0
		for seq := first; seq <= c.newest; seq++ {
			switch r := c.room(seq, back); {
			case r < room:
				less++
			case r == room:
				less += 0.5
			}
		}
		rank, ok = min(rank, less/float64(c.newest-first+1)), true
	}
	return rank, ok
}

// room is how long before the call seq the call so many before it left.
func (c *Crowd) room(seq, back int64) float64 {
	return c.times[seq&(crowdCalls-1)] - c.times[(seq-back)&(crowdCalls-1)]
}

// Left is how many of the newest calls had left by a moment. Those that are not kept do not count.
func (c *Crowd) Left(by float64, newest int) float64 {
	if c.oldest == 0 {
		return 0
	}
	n := min(newest, int(c.newest-c.oldest+1))
	return float64(n - sort.Search(n, func(i int) bool { return c.times[(c.newest-int64(i))&(crowdCalls-1)] <= by }))
}
