package throttle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zoneNamed(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func TestAnchors(t *testing.T) {
	la, berlin := zoneNamed(t, "America/Los_Angeles"), zoneNamed(t, "Europe/Berlin")
	amsterdam := zoneNamed(t, "Europe/Amsterdam")
	for _, tc := range []struct {
		per    time.Duration
		anchor time.Time
		text   string
	}{
		{day, time.Time{}, "UTC"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), "UTC"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.FixedZone("zulu", 0)), "UTC"},
		{day, time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC), "2026-03-04T09:30:00Z"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 1, time.UTC), "2026-03-04T00:00:00.000000001Z"},
		{2 * day, time.Date(1970, 1, 7, 0, 0, 0, 0, time.UTC), "UTC"},
		{2 * day, time.Date(1970, 1, 6, 0, 0, 0, 0, time.UTC), "1970-01-06T00:00:00Z"},
		{week, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), "UTC"}, // a Monday
		{week, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), "2026-11-22T00:00:00Z"},
		{time.Hour, time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC), "UTC"},
		{time.Hour, time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC), "2026-03-04T05:06:00Z"},
		{36 * time.Hour, time.Date(1970, 1, 6, 12, 0, 0, 0, time.UTC), "UTC"},

		{day, monday(la), "America/Los_Angeles"},
		{day, time.Date(2026, 7, 4, 0, 0, 0, 0, la), "America/Los_Angeles"},
		{week, time.Date(2026, 7, 4, 0, 0, 0, 0, la), "2026-07-04T00:00:00-07:00[America/Los_Angeles]"},
		{day, time.Date(2026, 1, 1, 9, 30, 0, 0, la), "2026-01-01T09:30:00-08:00[America/Los_Angeles]"},
		{time.Hour, time.Date(2026, 7, 4, 1, 0, 0, 0, la), "America/Los_Angeles"},
		{day, time.Date(2026, 3, 29, 2, 30, 0, 0, berlin), "2026-03-29T03:30:00+02:00[Europe/Berlin]"}, // no such time
		{day, time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(berlin), "2026-10-25T02:30:00+02:00[Europe/Berlin]"},
		{day, time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC).In(berlin), "2026-10-25T02:30:00+01:00[Europe/Berlin]"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.FixedZone("east", 3600)), "2026-03-04T00:00:00+01:00"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.FixedZone("Europe/Berlin", 3600)), "2026-03-04T00:00:00+01:00"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.FixedZone("", -3601)), "2026-03-04T00:00:00-01:00:01"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, time.FixedZone("", -1)), "2026-03-04T00:00:00-00:00:01"},
		{day, time.Date(2026, 3, 4, 0, 0, 0, 0, zoneNamed(t, "Etc/GMT+5")), "2026-03-04T00:00:00-05:00"},
		{day, time.Date(1905, 3, 4, 5, 0, 0, 0, amsterdam), time.Date(1905, 3, 4, 5, 0, 0, 0, amsterdam).Format("2006-01-02T15:04:05Z07:00:00") + "[Europe/Amsterdam]"},
	} {
		w := Fixed(7, tc.per, tc.anchor)
		require.Equal(t, tc.text, w.formatAnchor())
		back, problem := parseAnchor(tc.text)
		require.Empty(t, problem, tc.text)
		samePeriods(t, w, Fixed(7, tc.per, back))
		text, err := w.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, "fixed 7/"+formatPeriod(tc.per)+"@"+tc.text, string(text))
	}
}

// samePeriods compares calendars around their anchors and over two years of them.
func samePeriods(t assert.TestingT, want, got Window) {
	at := []time.Time{want.spec.Anchor, got.spec.Anchor, time.Date(1901, 2, 3, 4, 5, 6, 7, time.UTC), time.Date(2199, 2, 3, 4, 5, 6, 7, time.UTC)}
	for d := range 730 {
		at = append(at, time.Date(2025, 1, d, d%24, 17*d%60, 0, 0, time.UTC))
	}
	for _, x := range at {
		begin, end := want.Period(x)
		gotBegin, gotEnd := got.Period(x)
		if !begin.Equal(gotBegin) || !end.Equal(gotEnd) {
			assert.Fail(t, "other periods", "%s has [%s, %s] at %s, and %s has [%s, %s]", want, begin, end, x, got, gotBegin, gotEnd)
			return
		}
	}
}

// The text after the @ in other forms.
func TestAnchorsAreRead(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-01T09:30:00Z[America/Los_Angeles]":       time.Date(2026, 1, 1, 1, 30, 0, 0, zoneNamed(t, "America/Los_Angeles")),
		"2026-01-01T01:30:00-08:00[!America/Los_Angeles]": time.Date(2026, 1, 1, 1, 30, 0, 0, zoneNamed(t, "America/Los_Angeles")),
		"2026-01-01T01:30:00.5Z":                          time.Date(2026, 1, 1, 1, 30, 0, 500_000_000, time.UTC),
		"2026-01-01T01:30:00+00:00":                       time.Date(2026, 1, 1, 1, 30, 0, 0, time.UTC),
		"Local":                                           monday(time.Local),
	} {
		got, problem := parseAnchor(text)
		require.Empty(t, problem, text)
		samePeriods(t, Fixed(1, day, want), Fixed(1, day, got))
		assert.True(t, want.Equal(got), text)
	}
}

// An offset is not taken for the zone of the machine, which may have the same at that time.
func TestAnAnchorWithAnOffsetIgnoresLocal(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = zoneNamed(t, "America/Los_Angeles")
	got, problem := parseAnchor("2026-01-01T00:00:00-08:00")
	require.Empty(t, problem)
	samePeriods(t, Fixed(1, day, time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", -8*3600))), Fixed(1, day, got))
}

func TestAZoneWithoutANameHasNoText(t *testing.T) {
	for _, name := range []string{"Europe/Atlantis", "", "UTC", "America/New_York"} {
		loc := nameless(t, name)
		w := Fixed(1, day, time.Date(2026, 1, 1, 0, 0, 0, 0, loc))
		_, err := w.MarshalText()
		require.EqualError(t, err, `throttle: Window.Anchor: the time zone "`+loc.String()+`" has no text form: time.LoadLocation does not know it`)
		_, err = Limits{Windows: []Window{Sliding(1, 1), w}}.MarshalText()
		require.EqualError(t, err, `throttle: Windows[1].Anchor: the time zone "`+loc.String()+`" has no text form: time.LoadLocation does not know it`)
	}
}

// nameless is a zone under a name that is not its own, with one change of its clocks, in 2020.
func nameless(t *testing.T, name string) *time.Location {
	t.Helper()
	data := append([]byte("TZif"), make([]byte, 16)...)
	for _, n := range []byte{0, 0, 0, 1, 2, 8} { // UT and standard indicators, leaps, changes, types, letters
		data = append(data, 0, 0, 0, n)
	}
	data = append(data, 0x5e, 0x0b, 0xe1, 0x00) // 2020-01-01T00:00:00Z
	data = append(data, 1)                      // to the second type
	data = append(data, 0, 0, 0, 0, 0, 0)       // UTC+0, AAA
	data = append(data, 0, 0, 0x0e, 0x10, 0, 4) // UTC+1, BBB
	data = append(data, "AAA\x00BBB\x00"...)
	loc, err := time.LoadLocationFromTZData(name, data)
	require.NoError(t, err)
	return loc
}
