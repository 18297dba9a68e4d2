package quotatest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

type algorithm uint8

const (
	sliding algorithm = iota
	bucket
	fixed
)

// spec is a window that the suite can reckon with.
type spec struct {
	algorithm algorithm
	unit      throttle.Unit
	max       int64
	per       time.Duration
	rate      int64     // of a bucket: how many units refill in per
	anchor    time.Time // of a calendar
}

// newSpec is a bucket that refills a unit in each per, or another window.
func newSpec(a algorithm, u throttle.Unit, most int64, per time.Duration) spec {
	return spec{a, u, most, per, 1, anchor()}
}

// perSecond is a bucket that refills so many units in a second.
func perSecond(rate, burst int64) spec {
	s := newSpec(bucket, throttle.Requests, burst, time.Second)
	s.rate = rate
	return s
}

// anchor is where the calendars of fixed windows begin, unless they say otherwise.
func anchor() time.Time { return time.Date(2024, time.May, 1, 0, 0, 0, 0, time.UTC) }

func (s spec) window() throttle.Window {
	switch s.algorithm {
	case bucket:
		return throttle.Bucket(float64(s.rate)*float64(time.Second)/float64(s.per), s.max).Of(s.unit)
	case fixed:
		return throttle.Fixed(s.max, s.per, s.anchor).Of(s.unit)
	default:
		return throttle.Sliding(s.max, s.per).Of(s.unit)
	}
}

func (s spec) rule(epoch time.Time) oracle.Rule {
	switch s.algorithm {
	case bucket:
		return oracle.Bucket(int(s.unit), s.rate, s.per, s.max)
	case fixed:
		return oracle.Fixed(int(s.unit), s.max, s.per, s.anchor, epoch)
	default:
		return oracle.Sliding(int(s.unit), s.max, s.per)
	}
}

// ends is when the period of the calendar ends that holds t, both as of epoch.
func (s spec) ends(epoch time.Time, t int64) int64 {
	const day = 24 * time.Hour
	begins := func(k int64) int64 {
		at := s.anchor.Add(time.Duration(k) * s.per)
		if s.per%day == 0 {
			at = s.anchor.AddDate(0, 0, int(k*int64(s.per/day)))
		}
		return int64(at.Sub(epoch))
	}
	k := (t-begins(0))/int64(s.per) - 2
	for begins(k) <= t {
		k++
	}
	return begins(k)
}

// limits are those of one key, with at most one window for each unit.
type limits struct {
	concurrency int
	windows     []spec
}

// of is the window of that unit.
func (l limits) of(u throttle.Unit) (s spec, ok bool) {
	for _, w := range l.windows {
		if w.unit == u {
			return w, true
		}
	}
	return s, false
}

func (l limits) limits() throttle.Limits {
	lim := throttle.Limits{Concurrency: l.concurrency}
	for _, s := range l.windows {
		lim.Windows = append(lim.Windows, s.window())
	}
	return lim
}

func (l limits) equal(m limits) bool {
	return l.concurrency == m.concurrency && slices.Equal(l.windows, m.windows)
}

// withMax is l with another maximum of all its windows.
func (l limits) withMax(n int64) limits {
	l.windows = slices.Clone(l.windows)
	for i := range l.windows {
		l.windows[i].max = n
	}
	return l
}

// slots is a concurrency and nothing else.
func slots(n int) limits { return limits{concurrency: n} }

// requests is one window of requests and nothing else.
func requests(a algorithm, n int64, per time.Duration) limits {
	return limits{windows: []spec{newSpec(a, throttle.Requests, n, per)}}
}

// demand is a quota.Demand that the suite can reckon with.
type demand struct {
	key    string
	limits limits
	cost   throttle.Cost
}

func (d demand) demand() quota.Demand {
	return quota.Demand{Key: d.key, Limits: d.limits.limits(), Cost: d.cost}
}

func demandsOf(all []demand) []quota.Demand {
	list := make([]quota.Demand, 0, len(all))
	for _, d := range all {
		list = append(list, d.demand())
	}
	return list
}
