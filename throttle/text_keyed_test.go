package throttle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestParseKeyedLimits(t *testing.T) {
	five := windows(throttle.Sliding(5, time.Second))
	for _, tc := range []struct {
		text string
		want map[string]throttle.Limits
		says string
	}{
		{"", map[string]throttle.Limits{}, ""},
		{" \n", map[string]throttle.Limits{}, ""},
		{"a: 5/s", map[string]throttle.Limits{"a": five}, "a: 5/s"},
		{" a :5/s ; \n", map[string]throttle.Limits{"a": five}, "a: 5/s"},
		{"b: 5/s;a:unlimited", map[string]throttle.Limits{"a": {}, "b": five}, "a: unlimited; b: 5/s"},
		{"A: 5/s; a: 5/s", map[string]throttle.Limits{"a": five, "A": five}, "A: 5/s; a: 5/s"},
		{`"a": 5/s`, map[string]throttle.Limits{"a": five}, "a: 5/s"},
		{`"": 5/s`, map[string]throttle.Limits{"": five}, `"": 5/s`},
		{`"a;b:c,d" : 5/s; x: 5/s`, map[string]throttle.Limits{"a;b:c,d": five, "x": five}, `"a;b:c,d": 5/s; x: 5/s`},
		{`" a": 5/s`, map[string]throttle.Limits{" a": five}, `" a": 5/s`},
		{`"a\"b\\c\n\xff": 5/s`, map[string]throttle.Limits{"a\"b\\c\n\xff": five}, `"a\"b\\c\n\xff": 5/s`},
		{"a b/c@d.e é: 5/s", map[string]throttle.Limits{"a b/c@d.e é": five}, "a b/c@d.e é: 5/s"},
		{
			"ols: 4/s, 100/min; bioportal: 2/s",
			map[string]throttle.Limits{
				"ols":       windows(throttle.Sliding(4, time.Second), throttle.Sliding(100, time.Minute)),
				"bioportal": windows(throttle.Sliding(2, time.Second)),
			},
			"bioportal: 2/s; ols: 4/s, 100/min",
		},
		{
			"a: fixed 5/h@2026-01-01T09:30:00Z; b: 5/s",
			map[string]throttle.Limits{
				"a": windows(throttle.Fixed(5, time.Hour, time.Date(2026, 1, 1, 9, 30, 0, 0, time.UTC))), "b": five,
			},
			"a: fixed 5/h@2026-01-01T09:30:00Z; b: 5/s",
		},
	} {
		got, err := throttle.ParseKeyedLimits(tc.text)
		if assert.NoError(t, err, tc.text) {
			assert.Equal(t, tc.want, got, tc.text)
			assert.Equal(t, tc.says, throttle.FormatKeyedLimits(got), tc.text)
		}
	}
	assert.Empty(t, throttle.FormatKeyedLimits(nil))
}

func TestParseKeyedLimitsRefuses(t *testing.T) {
	const (
		missing = `a key and a colon are missing, as in "ols: 5/s"; ` +
			"write a comma between the limits of one key, and quote a key that holds a comma"
		nameless = `the key before the colon is missing; an empty one is written ""`
		quote    = "the closing quotation mark of the key is missing, or the key is not a string of Go"
		empty    = `there are no limits: write some, such as "5/s, 8 concurrent", or unlimited`
	)
	for _, tc := range []struct {
		text string
		want throttle.ParseError
	}{
		{"5/s", throttle.ParseError{Text: "5/s", Offset: 0, Problem: missing}},
		{"500/minute; b: 5/s", throttle.ParseError{Text: "500/minute", Offset: 0, Problem: missing}},
		{"a: 5/s;  5/s ; b: 5/s", throttle.ParseError{Text: "5/s", Offset: 9, Problem: missing}},
		{";a: 5/s", throttle.ParseError{Text: "", Offset: 0, Problem: missing}},
		{"a, b: 5/s", throttle.ParseError{Text: "a, b: 5/s", Offset: 0, Problem: missing}},
		{`a"b: 5/s`, throttle.ParseError{Text: `a"b: 5/s`, Offset: 0, Problem: missing}},
		{`"a" b: 5/s`, throttle.ParseError{Text: `"a" b: 5/s`, Offset: 0, Problem: missing}},
		{`a: 5/s; "b: 5/s; c: 5/s`, throttle.ParseError{Text: `"b: 5/s; c: 5/s`, Offset: 8, Problem: quote}},
		{`"\q": 5/s`, throttle.ParseError{Text: `"\q": 5/s`, Offset: 0, Problem: quote}},
		{" : 5/s", throttle.ParseError{Text: ": 5/s", Offset: 1, Problem: nameless}},
		{"a:", throttle.ParseError{Text: "", Offset: 2, Problem: empty}},
		{"a: ; b: 5/s", throttle.ParseError{Text: "", Offset: 3, Problem: empty}},
		{"a: 5/s; a : 6/s", throttle.ParseError{Text: "a : 6/s", Offset: 8, Problem: "the key comes twice: write its limits in one place"}},
		{`"": 5/s; "": 6/s`, throttle.ParseError{Text: `"": 6/s`, Offset: 9, Problem: "the key comes twice: write its limits in one place"}},
		{"a: 5/s, b: 6/s", throttle.ParseError{
			Text: "b", Offset: 8,
			Problem: "it does not begin a limit: write one such as 5/s, bucket 10/s burst 20, fixed 10000/day@UTC or 8 concurrent",
		}},
	} {
		got, err := throttle.ParseKeyedLimits(tc.text)
		var parse *throttle.ParseError
		if assert.ErrorAs(t, err, &parse, tc.text) {
			assert.Equal(t, tc.want, *parse, tc.text)
			assert.Len(t, joinedErrors(err), 1, tc.text)
		}
		assert.Nil(t, got, tc.text)
	}
}

func TestParseKeyedLimitsTellsEverything(t *testing.T) {
	_, err := throttle.ParseKeyedLimits(`ols: 5/s, 0/s, -1 concurrent; "a:b": 5/month; x; c: 0/s`)
	assert.EqualError(t, err, strings.Join([]string{
		`throttle: ["ols"].Windows[1].Max: 0 is not between 1 and 1099511627776`,
		`throttle: ["ols"].Concurrency: -1 is negative: use 0 for unbounded, or at least 1`,
		`throttle: limits: "month" at offset 39: a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins`,
		`throttle: limits: "x" at offset 46: a key and a colon are missing, as in "ols: 5/s"; write a comma between the limits of one key, and quote a key that holds a comma`,
		`throttle: ["c"].Windows[0].Max: 0 is not between 1 and 1099511627776`,
	}, "\n"))
}

func TestParseKeyedLimitsIsBounded(t *testing.T) {
	const most = 64 << 10
	_, err := throttle.ParseKeyedLimits(strings.Repeat(" ", most+1))
	assert.ErrorContains(t, err, "the text has 65537 bytes, and 65536 are the most")
	for _, piece := range []string{";", ":", ":;", "a:0/s;", `"`, `"";`, ",", "a:5/s;", strings.Repeat("k", 60_000) + ":0/s,0/s,0/s;"} {
		_, err := throttle.ParseKeyedLimits(strings.Repeat(piece, most/len(piece)))
		require.Error(t, err, piece)
		assert.LessOrEqual(t, len(joinedErrors(err)), 21, piece)
		assert.Less(t, len(err.Error()), 10_000, piece)
	}
}
