package console

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// count is 1,234,567.
func count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	digits := len(s)
	if n < 0 {
		digits--
	}
	for i := len(s) - 3; digits > 3; i, digits = i-3, digits-3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// speed is so many a second, or a minute if that is easier to read.
func speed(perSecond float64) string {
	switch {
	case !(perSecond > 0) || math.IsInf(perSecond, 0): // NaN as well
		return ""
	case perSecond >= 99.95:
		return count(int64(math.Round(perSecond))) + "/s"
	case perSecond >= 0.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
	default:
		return strconv.FormatFloat(perSecond*60, 'f', 1, 64) + "/min"
	}
}

// span is how long something takes, to the second.
func span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	s := int64(d.Round(time.Second) / time.Second)
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case s < minute:
		return fmt.Sprintf("%ds", s)
	case s < hour:
		return fmt.Sprintf("%dm%02ds", s/minute, s%minute)
	case s < day:
		return fmt.Sprintf("%dh%02dm", s/hour, s%hour/minute)
	default:
		return fmt.Sprintf("%dd%02dh", s/day, s%day/hour)
	}
}

// exact is span, with tenths below ten seconds.
func exact(d time.Duration) string {
	if d < 0 || d >= 9950*time.Millisecond {
		return span(d)
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
}

// some is "3 retries" or "1 retry", and nothing for 0.
func some[N int | int64](n N, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + one
	default:
		return count(n) + " " + many
	}
}

// percent never says 100 before the end.
func percent(ended, total int64) string {
	if total <= 0 {
		return ""
	}
	return strconv.FormatInt(int64(float64(min(ended, total))/float64(total)*100), 10) + "%"
}
