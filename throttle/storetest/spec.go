package storetest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/internal/oracle"
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
	per       time.Duration // of a bucket: in which one unit refills
}

// anchor is where the calendars of fixed windows begin.
func anchor() time.Time { return time.Date(2024, time.May, 1, 0, 0, 0, 0, time.UTC) }

func (s spec) window() throttle.Window {
	switch s.algorithm {
	case bucket:
		return throttle.Bucket(float64(time.Second)/float64(s.per), s.max).Of(s.unit)
	case fixed:
		return throttle.Fixed(s.max, s.per, anchor()).Of(s.unit)
	default:
		return throttle.Sliding(s.max, s.per).Of(s.unit)
	}
}

func (s spec) rule(epoch time.Time) oracle.Rule {
	switch s.algorithm {
	case bucket:
		return oracle.Bucket(int(s.unit), 1, s.per, s.max)
	case fixed:
		return oracle.Fixed(int(s.unit), s.max, s.per, anchor(), epoch)
	default:
		return oracle.Sliding(int(s.unit), s.max, s.per)
	}
}

// limits are those of one key. A change keeps the windows but for their max.
type limits struct {
	concurrency int
	windows     []spec
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
	return limits{windows: []spec{{a, throttle.Requests, n, per}}}
}

// demand is a throttle.Demand that the suite can reckon with.
type demand struct {
	key    string
	limits limits
	cost   throttle.Cost
}

func (d demand) demand() throttle.Demand {
	return throttle.Demand{Key: d.key, Limits: d.limits.limits(), Cost: d.cost}
}

func demandsOf(all []demand) []throttle.Demand {
	list := make([]throttle.Demand, 0, len(all))
	for _, d := range all {
		list = append(list, d.demand())
	}
	return list
}
