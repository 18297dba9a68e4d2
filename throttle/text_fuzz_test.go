package throttle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// someInstants are less than 292 years, the longest Duration, from any anchor.
func someInstants() []time.Time {
	return []time.Time{time.Unix(0, 0), time.Unix(1_772_956_800, 1), time.Unix(-1_799_999_999, 0), time.Unix(6_899_999_999, 999)}
}

// Nothing makes it panic, and what it reads it writes in such a way that it reads the same.
func FuzzParseLimits(f *testing.F) {
	for _, seed := range []string{
		"5/s, 300/min, 200000 tokens/min, bucket 10/s burst 20, fixed 10000/day@UTC, 8 concurrent",
		"unlimited", "", ",", "concurrency 8", "sliding 1.5k requests per 2h30m",
		"500 rpm, 2M tpd, 40k itpm, 1 otph", "3 input tokens/s, 1 output token/250ms, 1 point/1m0.5s",
		"bucket 1e+300/s", "bucket 1e-08/week burst 1", "bucket 7.1/15min",
		"fixed 1/week@America/Los_Angeles", "fixed 1/day@2026-01-01T09:30:00-08:00[America/Los_Angeles]",
		"fixed 1/2days@2026-01-01T00:00:00-01:00:01", "fixed 1/36h@1905-03-04T05:00:00Z[Europe/Amsterdam]",
		"5/month", "-5/-1s", "0 concurrent", "99999999999999999999k/s", "5/s; 6/s", "a: 5/s", "1_0_/7µs", "5/\xffs",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimits(s)
		if err != nil {
			require.Equal(t, Limits{}, l)
			require.LessOrEqual(t, len(err.(interface{ Unwrap() []error }).Unwrap()), mostProblems+3)
			return
		}
		text, err := l.MarshalText()
		require.NoError(t, err)
		if len(text) > longestText {
			return // abbreviations written in full
		}
		got, err := ParseLimits(string(text))
		require.NoError(t, err, "%q", text)
		sameLimits(t, l, got, someInstants())
		require.Equal(t, string(text), got.String())
	})
}

func FuzzParseKeyedLimits(f *testing.F) {
	for _, seed := range []string{
		"ols: 4/s, 100/min; bioportal: 2/s", "", ";", "a:;", `"": unlimited;`, `"a;b:c,d" : 5/s; x: fixed 1/h@2026-01-01T09:30:00Z`,
		`"a\"b\\c\n\xff": 8 concurrent`, `"a`, "a: 5/s; a: 6/s", "a, b: 5/s", "\u00a0a: 0/s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		keyed, err := ParseKeyedLimits(s)
		if err != nil {
			require.Nil(t, keyed)
			require.LessOrEqual(t, len(err.(interface{ Unwrap() []error }).Unwrap()), mostProblems+3)
			return
		}
		text := FormatKeyedLimits(keyed)
		if len(text) > longestText {
			return
		}
		got, err := ParseKeyedLimits(text)
		require.NoError(t, err, text)
		require.Len(t, got, len(keyed))
		for key, l := range keyed {
			require.Contains(t, got, key)
			sameLimits(t, l, got[key], someInstants())
		}
		require.Equal(t, text, FormatKeyedLimits(got))
		require.LessOrEqual(t, len(keyed), strings.Count(s, ":"))
	})
}
