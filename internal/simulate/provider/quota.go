package provider

import "time"

// Quota is a limit of Max calls in Per.
type Quota struct {
	Max    int
	Per    time.Duration
	Count  Count
	Burst  float64       // of a Refilled one; 0: Max
	Turn   time.Duration // when the first window of a Clock ends
	Shown  bool          // headers describe this limit and no other
	Hollow bool          // headers describe it, but it rejects no call
}

// Count is how calls are counted.
type Count uint8

const (
	// Clock counts in fixed windows.
	Clock Count = iota
	// FirstCall counts in windows that begin with the first call after the last one.
	FirstCall
	// Refilled is a token bucket.
	Refilled
	// Exactly is a sliding log.
	Exactly
)

// rate is a limit on calls per time.
type rate interface {
	// wait is how long until the next call fits.
	wait(now time.Duration) time.Duration
	take(now time.Duration)
	// fine takes one for a refused call. Tokens and logs only know calls that were processed.
	fine(now time.Duration, debt float64)
	scale(now time.Duration, factor float64)
	meter(now time.Duration) Meter
}

// limit is a rate and what it is there for.
type limit struct {
	rate
	hollow bool
}

// limits returns the limits on calls of c and the one that headers describe.
func (c *Config) limits() (all []limit, shown rate) {
	add := func(r rate, hollow bool) { all = append(all, limit{r, hollow}) }
	if b := newBucket(c.Requests); b != nil {
		shown = calls{b, 60}
		add(shown, false)
	}
	if c.Minute > 0 {
		shown = &window{most: c.Minute, per: time.Minute}
		add(shown, false)
	}
	if c.Log.Max > 0 {
		add(newLog(c.Log), false)
	}
	for i, q := range c.More {
		r := q.rate()
		add(r, q.Hollow)
		if q.Shown || i == 0 && shown == nil {
			shown = r
		}
	}
	return all, shown
}

func (q Quota) rate() rate {
	switch q.Count {
	case Refilled:
		burst := q.Burst
		if burst == 0 {
			burst = float64(q.Max)
		}
		perMinute := float64(q.Max) / q.Per.Minutes()
		return calls{newBucket(Bucket{PerMinute: perMinute, Burst: burst}), q.Per.Seconds()}
	case Exactly:
		return newLog(Log{Max: q.Max, Per: q.Per})
	case Clock:
		return &window{most: q.Max, per: q.Per, turn: q.Turn % q.Per}
	case FirstCall:
	}
	return &window{most: q.Max, per: q.Per, floating: true}
}
