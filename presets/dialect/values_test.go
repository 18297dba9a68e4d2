package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

// noon is when every answer of these tests arrives.
func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

func TestWait(t *testing.T) {
	const no = -1
	for _, tc := range []struct {
		value string
		want  time.Duration
	}{
		{"7", 7 * time.Second},
		{"26.5", 26500 * time.Millisecond},
		{"7.66s", 7660 * time.Millisecond},
		{"6m0s", 6 * time.Minute},
		{"2m59.56s", 179560 * time.Millisecond},
		{"120ms", 120 * time.Millisecond},
		{"46s", 46 * time.Second},
		{"46.837291s", 46837291 * time.Microsecond},
		{"0", 0},
		{"0s", 0},
		{" \"1s\" ", time.Second},
		{"2026-11-20T12:00:03Z", 3 * time.Second},
		{"2026-11-20T14:00:03.25+02:00", 3250 * time.Millisecond},
		{"2026-11-20T11:59:59Z", 0},
		{"Fri, 20 Nov 2026 12:00:03 GMT", 3 * time.Second},
		{"Friday, 20-Nov-26 12:00:03 GMT", 3 * time.Second},
		{"1795176003", 3 * time.Second},
		{"1795176003.5", 3500 * time.Millisecond},
		{"1795176003250", 3250 * time.Millisecond},
		{"1795175999", 0},
		{"999999", 999999 * time.Second},
		{"1000000", 0}, // in January 1970
		{"9999999999", longest},
		{"99999999999999999999", longest},
		{strings.Repeat("9", 400), longest},
		{"1.2.3", no},
		{"9999h", 9999 * time.Hour},
		{"999999h", longest},

		{"", no},
		{"-1", no},
		{"-5s", no},
		{"+5", no},
		{"1e3", no},
		{"0x1p4", no},
		{"NaN", no},
		{"Inf", no},
		{"infinity", no},
		{"1_000", no},
		{"soon", no},
		{".", no},
		{"99999999h", no},
	} {
		got, ok := wait(tc.value, noon())
		assert.Equal(t, tc.want != no, ok, "%q", tc.value)
		assert.Equal(t, max(0, tc.want), got, "%q", tc.value)
	}
}

func TestWhole(t *testing.T) {
	const no = -1
	for value, want := range map[string]int64{
		"0": 0, "60": 60, " 60 ": 60, "2.9": 2, "100, 100;w=60": 100, "100;w=60": 100, "1099511627776": throttle.MaxAmount,
		"": no, "-1": no, "+1": no, "1099511627777": no, "9223372036854775808": no, "many": no, "1e3": no, ".5": no,
	} {
		got, ok := whole(value)
		assert.Equal(t, want != no, ok, "%q", value)
		assert.Equal(t, max(0, want), got, "%q", value)
	}
}

func TestShare(t *testing.T) {
	limit, left, ok := share("32/40")
	assert.True(t, ok)
	assert.Equal(t, []int64{40, 8}, []int64{limit, left})
	_, left, ok = share("41/40")
	assert.True(t, ok)
	assert.Zero(t, left)
	for _, v := range []string{"", "32", "a/40", "32/b", "-1/40", "32/-1"} {
		_, _, ok := share(v)
		assert.False(t, ok, "%q", v)
	}
}

func TestWaitInAMessage(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"limit 3, used 3, requested 1. please try again in 20s. visit":     20 * time.Second,
		"please try again in 7.66s.":                                       7660 * time.Millisecond,
		"please try again in 174ms. visit":                                 174 * time.Millisecond,
		"please try again in 2m59.56s":                                     179560 * time.Millisecond,
		"please retry after 26 seconds. please go here":                    26 * time.Second,
		"please retry in 46.2s.":                                           46200 * time.Millisecond,
		"try again in 1 minute":                                            time.Minute,
		"try again in 2 hours.":                                            2 * time.Hour,
		"please wait a few minutes before you try again in your own time.": 0,
		"try again in ":                                                    0,
		"try again in -5s":                                                 0,
		"try again in 9999h":                                               9999 * time.Hour,
		"try again in 999999h":                                             longest,
		"try again in 7 days":                                              0,
		"":                                                                 0,
	} {
		got, ok := waitIn(message)
		assert.Equal(t, want > 0, ok, "%q", message)
		assert.Equal(t, want, got, "%q", message)
	}
}

// Whatever a moment is written as, the wait until it is the same.
func TestOneMomentInManyForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := time.Duration(rapid.IntRange(0, 999999).Draw(t, "seconds")) * time.Second
		at := noon().Add(in)
		for _, form := range []string{
			in.String(), at.Format(time.RFC3339), at.Format("Mon, 02 Jan 2006 15:04:05 GMT"),
			itoa(int64(in / time.Second)), itoa(at.Unix()), itoa(at.UnixMilli()), itoa(int64(in/time.Second)) + "s",
		} {
			got, ok := wait(form, noon())
			assert.True(t, ok, form)
			assert.Equal(t, in, got, form)
		}
	})
}
