package presets

import (
	"slices"
	"time"

	"github.com/headrace/headrace/throttle"
)

const (
	day = 24 * time.Hour
	// month is the longest calendar month, so that the limit holds in every month.
	month = 31 * day

	billion  = 1_000_000_000
	trillion = 1000 * billion
)

// figure is what a number of a row means, and up to where it can be believed.
type figure struct {
	key    string
	most   int64
	unit   throttle.Unit
	per    time.Duration // 0: no window
	points string        // what one of the Points is
}

// figures are in the order in which a profile lists its windows.
//
//nolint:gochecknoglobals // a table
var figures = [...]figure{
	{key: "min_interval_s", most: 86_400},
	{key: "rps", most: 1_000_000, per: time.Second},
	{key: "per_10s", most: 10_000_000, per: 10 * time.Second},
	{key: "rpm", most: 10_000_000, per: time.Minute},
	{key: "per_5min", most: 50_000_000, per: 5 * time.Minute},
	{key: "rph", most: 100_000_000, per: time.Hour},
	{key: "rpd", most: billion, per: day},
	{key: "per_month", most: 10 * billion, per: month},
	{key: "tpm", most: 10 * billion, unit: throttle.Tokens, per: time.Minute},
	{key: "tpd", most: trillion, unit: throttle.Tokens, per: day},
	{key: "itpm", most: 10 * billion, unit: throttle.InputTokens, per: time.Minute},
	{key: "uncached_itpm", most: 10 * billion, unit: throttle.InputTokens, per: time.Minute},
	{key: "otpm", most: 10 * billion, unit: throttle.OutputTokens, per: time.Minute},
	{key: "points_per_s", most: 10_000_000, unit: throttle.Points, per: time.Second, points: "points"},
	{key: "points_per_min", most: 100_000_000, unit: throttle.Points, per: time.Minute, points: "points"},
	{key: "ipm", most: 1_000_000, unit: throttle.Points, per: time.Minute, points: "images"},
	{key: "inputs_per_min", most: 100_000_000, unit: throttle.Points, per: time.Minute, points: "inputs"},
	{key: "audio_s_per_hour", most: billion, unit: throttle.Points, per: time.Hour, points: "seconds of audio"},
	{key: "audio_s_per_day", most: 10 * billion, unit: throttle.Points, per: day, points: "seconds of audio"},
	{key: "concurrency", most: 100_000},
	{key: "burst", most: 10_000_000},
	{key: "batch_queue_tokens", most: trillion},
	{key: "batch_queue_requests", most: billion},
	{key: "rpm_per_1k_tpm", most: 1_000_000},
}

// inputOnly is what a row's counts says when its tpm leaves output out.
const inputOnly = "input tokens"

// limits turns the numbers of a row into the parts of a profile.
//
// A window is Sliding unless the start of its period is known: no period of the provider's clock then exceeds Max. A daily
// window with a known reset is Fixed. A burst turns the shortest window of requests, or else of points, into a Bucket.
func (c *checker) limits(r *row) {
	reset, fixed := c.reset(r)
	burst := r.numbers[slices.IndexFunc(figures[:], func(f figure) bool { return f.key == "burst" })]
	for i := range figures {
		f, n := &figures[i], r.numbers[i]
		if n == 0 {
			continue
		}
		w := throttle.Sliding(n, f.per)
		switch {
		case f.key == "min_interval_s":
			w = throttle.Sliding(1, time.Duration(n)*time.Second)
		case f.per == 0:
			other(r.Profile, f.key, n)
			continue
		case f.per == day && fixed:
			w = throttle.Fixed(n, day, reset)
		case burst > 0 && (f.unit == throttle.Requests || f.unit == throttle.Points):
			w, burst = throttle.Bucket(float64(n)/f.per.Seconds(), burst), 0
		}
		unit := f.unit
		if f.key == "tpm" && r.Counts == inputOnly {
			unit = throttle.InputTokens
		}
		if f.points != "" && r.PointsUnit != "" && r.PointsUnit != f.points {
			c.add(r, f.key, "the row counts %s already: there is one kind of points, so make two rows", r.PointsUnit)
		}
		if f.points != "" {
			r.PointsUnit = f.points
		}
		r.Limits.Windows = append(r.Limits.Windows, w.Of(unit))
	}
	if burst > 0 {
		c.add(r, "burst", "a burst needs a rate: add rps or rpm")
	}
}

// other adds a number that is not a window.
func other(p *Profile, key string, n int64) {
	switch key {
	case "concurrency":
		p.Limits.Concurrency = int(n)
	case "burst":
	default:
		if p.Extra == nil {
			p.Extra = map[string]int64{}
		}
		p.Extra[key] = n
	}
}
