package dashboard

import "time"

const (
	fineFor, fineEvery     = 600, time.Second      // samples, and the time between them: 10 minutes
	coarseFor, coarseEvery = 720, 10 * time.Second // 2 hours
)

// sample is what a limiter did in the time that ends at a moment.
type sample struct {
	at       int64   // Unix time in milliseconds
	admitted float32 // calls a second
	rate     float32 // requests a second that were allowed; 0: unknown
	wait     float32 // seconds: the mean of the waits that ended; while none ends, no less than the first has waited
	hits     int32   // 429s
	slots    int32   // calls in flight that were allowed; 0: unknown
	inFlight int32
	waiting  int32
}

// ring keeps the last samples.
type ring struct {
	all  []sample // grows up to most
	next int      // the oldest, once it is full
	most int
}

func (r *ring) add(s sample) {
	if len(r.all) < r.most {
		r.all = append(r.all, s)
		return
	}
	r.all[r.next] = s
	r.next = (r.next + 1) % r.most
}

// each calls f from the oldest to the newest.
func (r *ring) each(f func(*sample)) {
	for i := range r.all {
		f(&r.all[(r.next+i)%len(r.all)])
	}
}

// recent returns the mean of admitted over the last 10 samples.
func (r *ring) recent() (mean float64) {
	n := min(10, len(r.all))
	for i := range n {
		mean += float64(r.all[(r.next+len(r.all)-1-i)%len(r.all)].admitted) / float64(n)
	}
	return mean
}

// series is the history of a limiter: fine, and coarse for longer.
type series struct {
	fine, coarse ring
	sum          sample // of the coarse sample that is under way
	n            int    // fine samples in it
}

func newSeries() *series { return &series{fine: ring{most: fineFor}, coarse: ring{most: coarseFor}} }

func (s *series) add(one sample) {
	s.fine.add(one)
	s.n++
	s.sum.admitted += one.admitted
	s.sum.wait = max(s.sum.wait, one.wait)
	s.sum.hits += one.hits
	s.sum.inFlight, s.sum.waiting = max(s.sum.inFlight, one.inFlight), max(s.sum.waiting, one.waiting)
	if s.n < int(coarseEvery/fineEvery) {
		return
	}
	s.sum.at, s.sum.rate, s.sum.slots = one.at, one.rate, one.slots
	s.sum.admitted /= float32(s.n)
	s.coarse.add(s.sum)
	s.sum, s.n = sample{}, 0
}

// columns are samples as the page draws them: a list for each number, nil where it is unknown.
type columns struct {
	At       []float64  `json:"at"` // Unix time in seconds
	Admitted []float32  `json:"admitted"`
	Rate     []*float32 `json:"rate"`
	Hits     []int32    `json:"hits"`
	Cap      []*int32   `json:"cap"`
	InFlight []int32    `json:"in_flight"`
	Waiting  []int32    `json:"waiting"`
	Wait     []float32  `json:"wait"`
}

func (c *columns) add(s *sample) {
	c.At, c.Admitted, c.Hits = append(c.At, float64(s.at)/1000), append(c.Admitted, s.admitted), append(c.Hits, s.hits)
	c.Rate, c.Cap = append(c.Rate, known(s.rate)), append(c.Cap, known(s.slots))
	c.InFlight, c.Waiting, c.Wait = append(c.InFlight, s.inFlight), append(c.Waiting, s.waiting), append(c.Wait, s.wait)
}

func known[T float32 | int32](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}
