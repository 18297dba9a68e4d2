package dialect

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/reopening"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

const (
	// longest is the longest wait that is passed on. One that is longer is cut to it.
	longest = reopening.MostAsked
	// longestReset is the longest time until a reset. A monthly quota is back by then.
	longestReset = 31 * 24 * time.Hour
)

// Numbers in a reset are distinguished by size, because header names do not help: epoch seconds have had ten digits since 2001,
// and no window is 11 days long.
const (
	leastEpoch   = 1e6  // below it are seconds from now
	leastEpochMs = 1e11 // below it are seconds since 1970
	mostEpochMs  = 1e15 // above it nothing is meant
)

// whole reads an amount: digits with at most one decimal point, rounded down. Anything after a comma or a semicolon, as in
// "100, 100;w=60", is ignored. ok is false if v is not an amount: "-1", which means unknown, or a number larger than any limit.
func whole(v string) (n int64, ok bool) {
	if n, ok = digits(v); ok || v == "" {
		return n, ok
	}
	if i := strings.IndexAny(v, ",;"); i >= 0 {
		v = v[:i]
	}
	v, _, _ = strings.Cut(strings.TrimSpace(v), ".")
	if v == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > throttle.MaxAmount || v[0] == '+' {
		return 0, false
	}
	return n, true
}

// digits reads what almost every amount is: a few digits and nothing else. The
// twelve that it takes are below throttle.MaxAmount.
func digits[T string | []byte](v T) (n int64, ok bool) {
	if len(v) == 0 || len(v) > 12 {
		return 0, false
	}
	for i := range len(v) {
		c := v[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// share reads "32/40", used of the limit.
func share(v string) (limit, remaining int64, ok bool) {
	used, of, ok := strings.Cut(v, "/")
	if !ok {
		return 0, 0, false
	}
	n, okUsed := whole(used)
	limit, okLimit := whole(of)
	return limit, max(0, limit-n), okUsed && okLimit
}

// wait returns the time from now until a moment, in any of the forms that providers use: seconds, epoch seconds, epoch
// milliseconds, a duration as Go and Protocol Buffers write it ("6m0s", "46s"), RFC 3339, or an HTTP date. A moment in the past
// gives 0, and the result is bounded. The form is recognised before parsing, because a failed parse allocates its error.
func wait(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.Trim(v, " \t\"")
	switch {
	case v == "":
		return 0, false
	case numeric(v):
		d, ok = sized(v, now)
	case v[0] > '9':
		if t, err := http.ParseTime(v); err == nil {
			d, ok = t.Sub(now), true
		}
	case strings.Contains(v, "T"):
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			d, ok = t.Sub(now), true
		}
	case v[0] >= '0':
		if p, err := time.ParseDuration(v); err == nil {
			d, ok = p, true
		}
	}
	return clamp(d), ok
}

// sized reads a number for what its size makes likely.
func sized(v string, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case n > mostEpochMs: // one that is out of range too
		return longest, true
	case err != nil:
		return 0, false
	case n < leastEpoch:
		return retry.ParseRetryAfter(v, now) // exact, where a float is not
	case n < leastEpochMs:
		return time.UnixMilli(int64(n * 1000)).Sub(now), true
	default:
		return time.UnixMilli(int64(n)).Sub(now), true
	}
}

func numeric(v string) bool {
	for i := range len(v) {
		if v[i] != '.' && (v[i] < '0' || v[i] > '9') {
			return false
		}
	}
	return true
}

func clamp(d time.Duration) time.Duration { return min(max(d, 0), longest) }

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// waitIn reads the wait that a message spells out, such as "Please try again
// in 7.66s." or "Please retry after 26 seconds."; message is in lower case.
func waitIn(message string) (time.Duration, bool) {
	for _, lead := range [...]string{"try again in ", "retry in ", "retry after "} {
		_, rest, found := strings.Cut(message, lead)
		if !found {
			continue
		}
		number, rest, _ := strings.Cut(rest, " ")
		number = strings.TrimRight(number, ".,;)")
		switch {
		case strings.HasPrefix(rest, "second"):
			number += "s"
		case strings.HasPrefix(rest, "minute"):
			number += "m"
		case strings.HasPrefix(rest, "hour"):
			number += "h"
		}
		if d, err := time.ParseDuration(number); err == nil && d >= 0 {
			return clamp(d), true
		}
	}
	return 0, false
}
