package retry_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/retry"
)

// Whatever a server sends, the wait is not negative, Retry-After-Ms counts if
// it is a number and Retry-After if not, and a date is counted from now.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []struct {
		ms, after string
		now       int64
	}{
		{"", "120", 0},
		{"", "Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
		{"", "Sunday, 06-Nov-94 08:49:37 GMT", 784111776},
		{"", "Sun Nov  6 08:49:37 1994", 784111778},
		{"", "Fri, 31 Dec 9999 23:59:59 GMT", math.MinInt64},
		{"1234.5", "2", 0},
		{"9223372036855", "", 0},
		{"soon", "2", 0},
		{"-1", "-1", 0},
		{" 0.0000000001 ", "later", math.MaxInt64},
		{"Sun, 06 Nov 1994 08:49:37 GMT", "1e9", 0},
	} {
		f.Add(seed.ms, seed.after, seed.now)
	}
	f.Fuzz(func(t *testing.T, ms, after string, seconds int64) {
		now := time.Unix(seconds, 0)
		both, fine := http.Header{}, http.Header{}
		both.Set("Retry-After", after)
		both.Set("Retry-After-Ms", ms)
		fine.Set("Retry-After-Ms", ms)
		want, wantOK := retry.RetryAfter(fine, now)
		checkMilliseconds(t, ms, want, wantOK)
		if !wantOK {
			want, wantOK = retry.ParseRetryAfter(after, now)
			checkWait(t, after, now, want, wantOK)
		}
		if d, ok := retry.RetryAfter(both, now); d != want || ok != wantOK {
			t.Fatalf("%q, %q: %d, %v; want %d, %v", ms, after, d, ok, want, wantOK)
		}
	})
}

// checkMilliseconds compares with the same digits read as seconds: a thousand
// times as long, but for the nanosecond by which either is rounded up.
func checkMilliseconds(t *testing.T, v string, d time.Duration, ok bool) {
	t.Helper()
	seconds, isNumber := retry.ParseRetryAfter(v, time.Unix(0, 0))
	if _, err := http.ParseTime(strings.TrimSpace(v)); err == nil {
		isNumber = false
	}
	switch {
	case ok != isNumber || d < 0 || !ok && d != 0:
		t.Fatalf("%q: %d, %v", v, d, ok)
	case ok && seconds < math.MaxInt64 && (d < seconds/1000 || d > seconds/1000+1):
		t.Fatalf("%q: %d as milliseconds, %d as seconds", v, d, seconds)
	case ok && seconds == math.MaxInt64 && d < math.MaxInt64/1000:
		t.Fatalf("%q: %d as milliseconds is short", v, d)
	}
}

// checkWait takes dates for what they are, and checks of numbers only that they do not depend on now.
func checkWait(t *testing.T, v string, now time.Time, d time.Duration, ok bool) {
	t.Helper()
	if d < 0 || !ok && d != 0 {
		t.Fatalf("%q: %d, %v", v, d, ok)
	}
	date, err := http.ParseTime(strings.TrimSpace(v))
	if err != nil {
		if other, otherOK := retry.ParseRetryAfter(v, now.Add(time.Hour)); other != d || otherOK != ok {
			t.Fatalf("%q: %d, %v; an hour later %d, %v", v, d, ok, other, otherOK)
		}
		return
	}
	switch until := date.Sub(now); {
	case !ok, date.Before(now) && d != 0, date.After(now) && d != until:
		t.Fatalf("%q, which is %s from now: %d, %v", v, until, d, ok)
	}
}
