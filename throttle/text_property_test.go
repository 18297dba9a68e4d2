package throttle

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/meter"
)

func drawTextAmount(t *rapid.T, name string) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Range(1, MaxAmount)).Draw(t, name)
}

func drawPeriod(t *rapid.T) time.Duration {
	unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, day, week}).Draw(t, "unit")
	most := int64(meter.LongestFill / unit)
	return unit * time.Duration(rapid.OneOf(rapid.Int64Range(1, min(most, 100)), rapid.Int64Range(1, most)).Draw(t, "units"))
}

// drawRate draws rates as people write them, and any that a bucket of max can have.
func drawRate(t *rapid.T, max int64) float64 {
	least := float64(max) / meter.LongestFill.Seconds() * 1.001
	written := float64(rapid.Int64Range(1, 1_000_000).Draw(t, "written")) / drawPeriod(t).Seconds()
	if written >= least && rapid.Bool().Draw(t, "as written") {
		return written
	}
	if rapid.Bool().Draw(t, "any bits") {
		x := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if x >= least && !math.IsInf(x, 1) {
			return x
		}
	}
	return rapid.Float64Range(least, 1e7).Draw(t, "rate")
}

func drawAnchor(t *rapid.T) time.Time {
	var loc *time.Location
	if name := rapid.SampledFrom([]string{
		"UTC", "America/Los_Angeles", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Tokyo", "Local", "",
	}).Draw(t, "zone"); name != "" {
		var err error
		loc, err = time.LoadLocation(name)
		require.NoError(t, err)
	} else {
		loc = time.FixedZone(rapid.SampledFrom([]string{"", "UTC", "Asia/Tokyo", "x"}).Draw(t, "name"), rapid.IntRange(-86399, 86399).Draw(t, "offset"))
	}
	anchor := time.Date(rapid.IntRange(1901, 2199).Draw(t, "year"), 1, rapid.IntRange(1, 366).Draw(t, "date"), 0, 0, 0, 0, loc)
	if rapid.Bool().Draw(t, "midnight") {
		return anchor
	}
	return anchor.Add(rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, 30 * time.Minute, time.Hour}).Draw(t, "step") *
		time.Duration(rapid.IntRange(0, 1000).Draw(t, "steps")))
}

func drawWindow(t *rapid.T) Window {
	u := Unit(rapid.Uint8Range(0, uint8(Units)-1).Draw(t, "unit"))
	n := drawTextAmount(t, "max")
	switch rapid.IntRange(0, 2).Draw(t, "WindowKind") {
	case 0:
		return Sliding(n, drawPeriod(t)).Of(u)
	case 1:
		return Bucket(drawRate(t, n), n).Of(u)
	default:
		return Fixed(n, drawPeriod(t), drawAnchor(t)).Of(u)
	}
}

// Whatever is valid can be written, and is read as the same; twice written it is the same text.
func TestTextIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Windows: rapid.SliceOfN(rapid.Custom(drawWindow), 0, 6).Draw(t, "windows")}
		if rapid.Bool().Draw(t, "bounded") {
			l.Concurrency = rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, math.MaxInt)).Draw(t, "concurrency")
		}
		require.NoError(t, l.Validate())
		text, err := l.MarshalText()
		require.NoError(t, err)
		got, err := ParseLimits(string(text))
		require.NoError(t, err, "%s", text)
		sameLimits(t, l, got, drawInstants(t))
		require.Equal(t, string(text), got.String())

		for _, w := range l.Windows {
			text, err := w.MarshalText()
			require.NoError(t, err)
			var got Window
			require.NoError(t, got.UnmarshalText(text))
			require.Equal(t, string(text), got.String())
		}
	})
}

// drawInstants draws some that are less than 292 years, the longest Duration, from any anchor.
func drawInstants(t *rapid.T) (at []time.Time) {
	for range 8 {
		at = append(at, time.Unix(0, rapid.Int64Range(-18e17, 69e17).Draw(t, "instant")))
	}
	return at
}

// sameLimits compares calendars by their periods at some instants, all else exactly.
func sameLimits(t require.TestingT, want, got Limits, at []time.Time) {
	require.Equal(t, want.Concurrency, got.Concurrency)
	require.Len(t, got.Windows, len(want.Windows))
	for i, w := range want.Windows {
		g := got.Windows[i]
		for _, x := range at {
			if w.Kind() != CalendarWindow {
				break
			}
			begin, end := w.Period(x)
			gotBegin, gotEnd := g.Period(x)
			require.True(t, begin.Equal(gotBegin) && end.Equal(gotEnd), "%s has [%s, %s] at %s, and %s has [%s, %s]", w, begin, end, x, g, gotBegin, gotEnd)
		}
		w.spec.Anchor, g.spec.Anchor = time.Time{}, time.Time{}
		require.Equal(t, math.Float64bits(w.spec.Rate), math.Float64bits(g.spec.Rate), "%s", w)
		require.Equal(t, w, g)
	}
}

func TestKeyedTextIsReadAsWritten(t *testing.T) {
	key := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ,;:"\\]{0,5}`), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }))
	limits := rapid.SampledFrom([]Limits{{}, {Concurrency: 2}, {Windows: []Window{Sliding(1, time.Second), Fixed(2, day, time.Time{})}}})
	rapid.Check(t, func(t *rapid.T) {
		keyed := rapid.MapOfN(key, limits, 0, 5).Draw(t, "keyed")
		text := FormatKeyedLimits(keyed)
		got, err := ParseKeyedLimits(text)
		require.NoError(t, err, text)
		require.Equal(t, keyed, got, text)
	})
}

// Space and case do not matter.
func TestTextMayBeSpacedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Windows: []Window{drawWindow(t)}}
		text := l.String()
		if strings.Contains(text, "@") {
			return
		}
		spaced := " " + strings.NewReplacer("/", " / ", " ", "\t ").Replace(text) + "\n"
		if !strings.ContainsAny(text, "µ") {
			spaced = strings.ToUpper(spaced)
		}
		got, err := ParseLimits(spaced)
		require.NoError(t, err, spaced)
		assert.Equal(t, l, got, spaced)
	})
}
