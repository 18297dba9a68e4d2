package retry

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// RetryAfter reads from a response's header how long the provider wants the
// client to wait: Retry-After-Ms, a number of milliseconds that some providers
// add because it is finer, or else Retry-After as [ParseRetryAfter] reads it.
// ok is false if neither is there in a form that can be read.
//
// now is the time at which the response arrived; it matters only for a
// Retry-After that is a date.
func RetryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) { //nolint:revive // the header is called Retry-After
	if d, ok := parseDecimal(strings.TrimSpace(h.Get("Retry-After-Ms")), time.Millisecond); ok {
		return d, true
	}
	return ParseRetryAfter(h.Get("Retry-After"), now)
}

// ParseRetryAfter reads the value of a Retry-After header field, RFC 9110
// section 10.2.3: a number of seconds, or a date in any of the three formats of
// HTTP (section 5.6.7), which is counted from now; a date that has passed
// means 0. Space around the value is ignored. Pass as now the time at which
// the response arrived, or its Date header to be independent of the local
// clock.
//
// Seconds are digits with at most one decimal point, "1.5", which is more than
// the RFC allows and less than what strconv does: signs, exponents, NaN and Inf
// are refused. A fraction finer than a nanosecond is rounded up, since the
// value is the least that the provider wants; a value beyond the range of
// time.Duration becomes its maximum, about 292 years, so callers need a cap of
// their own.
//
// ok is false, and d 0, for everything else. d is never negative.
func ParseRetryAfter(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.TrimSpace(v)
	if d, ok := parseDecimal(v, time.Second); ok {
		return d, true
	}
	date, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return max(0, date.Sub(now)), true // Sub saturates
}

// parseDecimal reads digits with at most one decimal point as a multiple of
// unit, a power of ten. It counts in integers: a float64 could make a large
// value shorter than was asked for.
func parseDecimal(v string, unit time.Duration) (d time.Duration, ok bool) {
	whole, fraction, _ := strings.Cut(v, ".")
	if whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return 0, false
	}
	var ns int64
	for _, c := range []byte(whole) {
		ns = addSaturated(mulSaturated(ns, 10), int64(c-'0'))
	}
	scale := unit.Nanoseconds()
	ns = mulSaturated(ns, scale)
	for _, c := range []byte(fraction) {
		if scale /= 10; scale > 0 {
			ns = addSaturated(ns, int64(c-'0')*scale)
		} else if c != '0' {
			ns = addSaturated(ns, 1)
			break
		}
	}
	return time.Duration(ns), true
}

func allDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// mulSaturated wants a >= 0 and b > 0.
func mulSaturated(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// addSaturated wants a >= 0 and b >= 0.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
