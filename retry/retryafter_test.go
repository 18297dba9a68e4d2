package retry_test

import (
	"math"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/retry"
)

const forever time.Duration = math.MaxInt64

// arrival is RFC 9110's example date, as the time at which a response came.
func arrival() time.Time { return time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC) }

func TestParseRetryAfter(t *testing.T) {
	for v, want := range map[string]time.Duration{
		"0":                            0,
		"120":                          2 * time.Minute,
		"007":                          7 * time.Second,
		" \t3 ":                        3 * time.Second,
		"0.5":                          500 * time.Millisecond,
		"1.5":                          1500 * time.Millisecond,
		".25":                          250 * time.Millisecond,
		"2.":                           2 * time.Second,
		"0.000000001":                  1,
		"0.0000000001":                 1, // rounded up
		"1.0000000000":                 time.Second,
		"1.9999999999":                 2 * time.Second,
		"9223372036.854775807":         forever,
		"9223372036.854775806":         forever - 1,
		"9223372036.854775808":         forever,
		"9223372037":                   forever,
		"99999999999999999999":         forever,
		"1" + strings.Repeat("0", 400): forever,

		"Sun, 06 Nov 1994 08:49:37 GMT":   0,
		"Sun, 06 Nov 1994 08:49:36 GMT":   0, // passed
		"Sun, 06 Nov 1994 08:50:07 GMT":   30 * time.Second,
		" Sun, 06 Nov 1994 08:50:07 GMT ": 30 * time.Second,
		"Sunday, 06-Nov-94 08:50:07 GMT":  30 * time.Second,
		"Sun Nov  6 08:50:07 1994":        30 * time.Second,
		"Fri, 31 Dec 9999 23:59:59 GMT":   forever,
		"Thu, 01 Jan 1970 00:00:00 GMT":   0,
	} {
		d, ok := retry.ParseRetryAfter(v, arrival())
		assert.True(t, ok, "%q", v)
		assert.Equal(t, want, d, "%q", v)
	}
}

func TestParseRetryAfterRefuses(t *testing.T) {
	for _, v := range []string{
		"", " ", ".", "NaN", "nan", "Inf", "+Inf", "infinity", "-1", "-0.5", "-0", "+5", "1e3", "1E3", "0x10", "0x1p4",
		"1_000", "1,5", "1 2", "1.2.3", "5s", "soon", "１２", "٣", "1\x00", "Sun, 06 Nov 1994", "1994-11-06T08:49:37Z",
	} {
		d, ok := retry.ParseRetryAfter(v, arrival())
		assert.False(t, ok, "%q", v)
		assert.Zero(t, d, "%q", v)
	}
}

func TestParseRetryAfterDateIsCountedFromNow(t *testing.T) {
	date := arrival().Format(http.TimeFormat)
	for _, ago := range []time.Duration{0, 1, time.Second, time.Hour} {
		d, ok := retry.ParseRetryAfter(date, arrival().Add(-ago).In(time.FixedZone("east", 3600)))
		assert.True(t, ok)
		assert.Equal(t, ago, d)
	}
}

func TestRetryAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		ms, seconds string
		want        time.Duration
		ok          bool
	}{
		"neither":                  {"", "", 0, false},
		"seconds":                  {"", "2", 2 * time.Second, true},
		"date":                     {"", "Sun, 06 Nov 1994 08:49:47 GMT", 10 * time.Second, true},
		"milliseconds":             {"1234", "", 1234 * time.Millisecond, true},
		"milliseconds come first":  {"1234", "2", 1234 * time.Millisecond, true},
		"milliseconds of 0 too":    {"0", "2", 0, true},
		"fraction of milliseconds": {" 0.5 ", "2", 500 * time.Microsecond, true},
		"finer than nanoseconds":   {"0.0000001", "", 1, true},
		"too many milliseconds":    {"9223372036855", "", forever, true},
		"milliseconds as junk":     {"soon", "2", 2 * time.Second, true},
		"milliseconds as a date":   {"Sun, 06 Nov 1994 08:49:47 GMT", "", 0, false},
		"negative milliseconds":    {"-1", "2", 2 * time.Second, true},
		"both junk":                {"soon", "later", 0, false},
	} {
		h := http.Header{}
		if tc.ms != "" {
			h.Set("retry-after-ms", tc.ms)
		}
		if tc.seconds != "" {
			h.Set("retry-after", tc.seconds)
		}
		d, ok := retry.RetryAfter(h, arrival())
		assert.Equal(t, tc.ok, ok, name)
		assert.Equal(t, tc.want, d, name)
	}
	_, ok := retry.RetryAfter(nil, arrival())
	assert.False(t, ok)
}

// A date is relative to the clock of the server, if the response has it.
func TestRetryAfterOfAnotherClock(t *testing.T) {
	const date = "Sun, 06 Nov 1994 08:49:47 GMT"
	for sent, want := range map[string]time.Duration{
		"":                              10 * time.Second,
		"Sun, 06 Nov 1994 08:49:46 GMT": time.Second,
		"Sun, 06 Nov 1994 08:49:48 GMT": 0,
		"yesterday":                     10 * time.Second,
		"Thu, 01 Jan 1970 00:00:00 GMT": 10 * time.Second, // no clock was set
	} {
		d, ok := retry.RetryAfter(http.Header{"Date": {sent}, "Retry-After": {date}}, arrival())
		assert.True(t, ok, sent)
		assert.Equal(t, want, d, sent)
	}
	for _, years := range []int{-3, 3} {
		theirs := arrival().AddDate(years, 0, 0)
		h := http.Header{"Date": {theirs.Format(http.TimeFormat)}, "Retry-After": {theirs.Add(time.Second).Format(http.TimeFormat)}}
		d, ok := retry.RetryAfter(h, arrival())
		assert.True(t, ok)
		assert.Equal(t, time.Second, d)
		h.Set("Retry-After", "2")
		d, _ = retry.RetryAfter(h, arrival())
		assert.Equal(t, 2*time.Second, d)
	}
}

func TestParseRetryAfterRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ns"))
		whole, fraction := int64(want/time.Second), int64(want%time.Second)
		v := strconv.FormatInt(whole, 10) + "." + strconv.FormatInt(fraction+int64(time.Second), 10)[1:]
		if d, ok := retry.ParseRetryAfter(v, arrival()); !ok || d != want {
			t.Fatalf("%q: %d, %v; want %d", v, d, ok, want)
		}
		v = strconv.FormatInt(whole, 10)
		if d, ok := retry.ParseRetryAfter(v, arrival()); !ok || d != want.Truncate(time.Second) {
			t.Fatalf("%q: %d, %v", v, d, ok)
		}
	})
}

func TestParseRetryAfterOfAnything(t *testing.T) {
	anything := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-+]?[0-9]{0,25}\.?[0-9]{0,15}(e[0-9]+)?`))
	rapid.Check(t, func(t *rapid.T) { checkRetryAfter(t, anything.Draw(t, "v")) })
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"", "0", "1.5", ".", "1e9", "-1", "NaN", "9223372036.854775807", "0.0000000001", " 12 ",
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) { checkRetryAfter(t, v) })
}

// checkRetryAfter compares with exact arithmetic: what is read as a number is
// the number of seconds rounded up to nanoseconds, as far as a Duration goes.
func checkRetryAfter(t interface{ Fatalf(string, ...any) }, v string) {
	d, ok := retry.ParseRetryAfter(v, arrival())
	if d < 0 || !ok && d != 0 {
		t.Fatalf("%q: %d, %v", v, d, ok)
	}
	trimmed := strings.TrimSpace(v)
	number := strings.Trim(trimmed, "0123456789") == "" || strings.Trim(trimmed, "0123456789") == "."
	if number = number && strings.ContainsAny(trimmed, "0123456789"); !number {
		if _, err := http.ParseTime(trimmed); ok != (err == nil) {
			t.Fatalf("%q: ok is %v, but as a date: %v", v, ok, err)
		}
		return
	}
	exact, valid := new(big.Rat).SetString(trimmed)
	if !ok || !valid {
		t.Fatalf("%q: %v, %v", v, ok, valid)
	}
	exact.Mul(exact, big.NewRat(int64(time.Second), 1))
	want := new(big.Int).Add(exact.Num(), exact.Denom())
	want.Sub(want, big.NewInt(1)).Quo(want, exact.Denom())
	if !want.IsInt64() {
		want.SetInt64(math.MaxInt64)
	}
	if want.Int64() != int64(d) {
		t.Fatalf("%q: %d; want %d", v, d, want)
	}
}
