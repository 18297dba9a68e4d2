package retry

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// RetryAfter reads how long a response asks the client to wait: Retry-After-Ms, a
// number of milliseconds, or else Retry-After, as [ParseRetryAfter] does. A date is relative to
// the Date header, because the server's clock may differ from ours, or to now without a valid one; if that is
// more than 24 hours, to the one that gives the shorter wait. ok is
// false if neither is valid. now is the time at which the response arrived.
func RetryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) { //nolint:revive // the header is called Retry-After
	if d, ok := parseDecimal(strings.TrimSpace(h.Get("Retry-After-Ms")), time.Millisecond); ok {
		return d, true
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := parseDecimal(v, time.Second); ok {
		return d, true
	}
	d, ok = parseDate(v, now)
	if date, err := http.ParseTime(h.Get("Date")); err == nil && ok {
		sent, _ := parseDate(v, date)
		if d = min(d, sent); sent <= credible {
			d = sent
		}
	}
	return d, ok
}

// credible is a wait that a clock does not show to be wrong.
const credible = 24 * time.Hour

// ParseRetryAfter parses the value of a Retry-After header (RFC 9110, section 10.2.3): a
// number of seconds, or a date in one of the three formats of section 5.6.7. Seconds may
// have a decimal point, "1.5", but no sign or exponent; fractions of a nanosecond are rounded
// up. A date is relative to now: pass the time at which the response arrived, or its
// Date header. A date in the past is 0. ok is false for all other text.
//
// d is never negative. It can be as large as the maximum of time.Duration, so callers
// need a cap.
func ParseRetryAfter(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.TrimSpace(v)
	if d, ok := parseDecimal(v, time.Second); ok {
		return d, true
	}
	return parseDate(v, now)
}

func parseDate(v string, now time.Time) (d time.Duration, ok bool) {
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
