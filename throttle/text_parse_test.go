package throttle_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, on any machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

const oneDay = 24 * time.Hour

func slidingRequests(n int64, per time.Duration) throttle.Limits {
	return windows(throttle.Sliding(n, per))
}

func slidingTokens(n int64, per time.Duration) throttle.Limits {
	return windows(throttle.Sliding(n, per).Of(throttle.Tokens))
}

func bucketOf(rate float64, burst int64) throttle.Limits {
	return windows(throttle.Bucket(rate, burst))
}

func TestParseLimits(t *testing.T) {
	for _, tc := range []struct {
		text string
		want throttle.Limits
		says string // the text of want, if it is another
	}{
		{"unlimited", throttle.Limits{}, ""},
		{" Unlimited ", throttle.Limits{}, "unlimited"},

		// Periods.
		{"5/s", slidingRequests(5, time.Second), ""},
		{"5/min", slidingRequests(5, time.Minute), ""},
		{"5/h", slidingRequests(5, time.Hour), ""},
		{"5/day", slidingRequests(5, oneDay), ""},
		{"5/week", slidingRequests(5, 7*oneDay), ""},
		{"5/sec", slidingRequests(5, time.Second), "5/s"},
		{"5/second", slidingRequests(5, time.Second), "5/s"},
		{"5 / SECOND", slidingRequests(5, time.Second), "5/s"},
		{"5/m", slidingRequests(5, time.Minute), "5/min"},
		{"5/minute", slidingRequests(5, time.Minute), "5/min"},
		{"5/60s", slidingRequests(5, time.Minute), "5/min"},
		{"5/hour", slidingRequests(5, time.Hour), "5/h"},
		{"5/hrs", slidingRequests(5, time.Hour), "5/h"},
		{"5/d", slidingRequests(5, oneDay), "5/day"},
		{"5/24h", slidingRequests(5, oneDay), "5/day"},
		{"5/w", slidingRequests(5, 7*oneDay), "5/week"},
		{"5/7 days", slidingRequests(5, 7*oneDay), "5/week"},
		{"5/2weeks", slidingRequests(5, 14*oneDay), ""},
		{"5/30days", slidingRequests(5, 30*oneDay), ""},
		{"5/36h", slidingRequests(5, 36*time.Hour), ""},
		{"5/1.5days", slidingRequests(5, 36*time.Hour), "5/36h"},
		{"100/15min", slidingRequests(100, 15*time.Minute), ""},
		{"100/15 minutes", slidingRequests(100, 15*time.Minute), "100/15min"},
		{"10/2h30m", slidingRequests(10, 150*time.Minute), "10/150min"},
		{"10/1d 12h", slidingRequests(10, 36*time.Hour), "10/36h"},
		{"5/250ms", slidingRequests(5, 250*time.Millisecond), ""},
		{"5/1.5s", slidingRequests(5, 1500*time.Millisecond), ""},
		{"5/1m0.5s", slidingRequests(5, 60500*time.Millisecond), ""},
		{"5/7us", slidingRequests(5, 7*time.Microsecond), "5/7µs"},
		{"5/7µs", slidingRequests(5, 7*time.Microsecond), ""},
		{"5/7μs", slidingRequests(5, 7*time.Microsecond), "5/7µs"},
		{"5/ns", slidingRequests(5, 1), "5/1ns"},
		{"5/ms", slidingRequests(5, time.Millisecond), "5/1ms"},
		{"1/876000h", slidingRequests(1, 36500*oneDay), "1/36500days"},

		// Units and abbreviations.
		{"1 request/s", slidingRequests(1, time.Second), "1/s"},
		{"500 requests/min", slidingRequests(500, time.Minute), "500/min"},
		{"500 requests per minute", slidingRequests(500, time.Minute), "500/min"},
		{"500 PER min", slidingRequests(500, time.Minute), "500/min"},
		{"sliding 500/min", slidingRequests(500, time.Minute), "500/min"},
		{"300 tokens/min", slidingTokens(300, time.Minute), ""},
		{"1 Token / s", slidingTokens(1, time.Second), "1 tokens/s"},
		{"3 input tokens/s", windows(throttle.Sliding(3, time.Second).Of(throttle.InputTokens)), ""},
		{"1 input token/s", windows(throttle.Sliding(1, time.Second).Of(throttle.InputTokens)), "1 input tokens/s"},
		{"3 Output Tokens/s", windows(throttle.Sliding(3, time.Second).Of(throttle.OutputTokens)), "3 output tokens/s"},
		{"1 point/day", windows(throttle.Sliding(1, oneDay).Of(throttle.Points)), "1 points/day"},
		{"500 rpm", slidingRequests(500, time.Minute), "500/min"},
		{"500rpm", slidingRequests(500, time.Minute), "500/min"},
		{"500 RPM", slidingRequests(500, time.Minute), "500/min"},
		{"5 rps", slidingRequests(5, time.Second), "5/s"},
		{"5 qps", slidingRequests(5, time.Second), "5/s"},
		{"5 rph", slidingRequests(5, time.Hour), "5/h"},
		{"5 rpd", slidingRequests(5, oneDay), "5/day"},
		{"200000 tpm", slidingTokens(200_000, time.Minute), "200000 tokens/min"},
		{"2M tpd", slidingTokens(2_000_000, oneDay), "2000000 tokens/day"},
		{"40k itpm", windows(throttle.Sliding(40_000, time.Minute).Of(throttle.InputTokens)), "40000 input tokens/min"},
		{"8k OTPM", windows(throttle.Sliding(8_000, time.Minute).Of(throttle.OutputTokens)), "8000 output tokens/min"},

		// Numbers.
		{"200_000 tokens/min", slidingTokens(200_000, time.Minute), "200000 tokens/min"},
		{"200k tokens/min", slidingTokens(200_000, time.Minute), "200000 tokens/min"},
		{"200K tokens/min", slidingTokens(200_000, time.Minute), "200000 tokens/min"},
		{"2m tokens/min", slidingTokens(2_000_000, time.Minute), "2000000 tokens/min"},
		{"1.005k/s", slidingRequests(1005, time.Second), "1005/s"},
		{"5.0/s", slidingRequests(5, time.Second), "5/s"},
		{"1099511627776/s", slidingRequests(throttle.MaxAmount, time.Second), ""},

		// Buckets.
		{"bucket 10/s burst 20", bucketOf(10, 20), ""},
		{"Bucket 10 / s Burst 20", bucketOf(10, 20), "bucket 10/s burst 20"},
		{"bucket 2.5/s burst 10", bucketOf(2.5, 10), ""},
		{"bucket 10/s", bucketOf(10, 10), "bucket 10/s burst 10"},
		{"bucket 90/min", bucketOf(1.5, 90), "bucket 90/min burst 90"},
		{"bucket 0.5/s", bucketOf(0.5, 1), "bucket 30/min burst 1"},
		{"bucket 2.5/min", bucketOf(2.5/60, 3), "bucket 2.5/min burst 3"},
		{"bucket 3/15min", bucketOf(3./900, 3), "bucket 12/h burst 3"},
		{"bucket 1/h", bucketOf(1./3600, 1), "bucket 1/h burst 1"},
		{"bucket 31/min burst 10", bucketOf(31./60, 10), ""}, // 31./60*60 is not 31
		{"bucket 100/day burst 1", bucketOf(100./86400, 1), ""},
		{"bucket 100/week burst 7", bucketOf(100./604800, 7), ""},
		{"bucket 10/15min burst 3", bucketOf(10./900, 3), "bucket 40/h burst 3"},
		{"bucket 1.5k/s burst 2k", bucketOf(1500, 2000), "bucket 1500/s burst 2000"},
		{
			"bucket 150000 tokens/min burst 150000",
			windows(throttle.Bucket(2500, 150_000).Of(throttle.Tokens)), "bucket 2500 tokens/s burst 150000",
		},
		{
			"bucket 200k tpm burst 9k",
			windows(throttle.Bucket(200_000./60, 9000).Of(throttle.Tokens)), "bucket 200000 tokens/min burst 9000",
		},
		{"bucket 1e+300/s burst 1", bucketOf(1e300, 1), ""},
		{"bucket 1e300/s", bucketOf(1e300, throttle.MaxAmount), "bucket 1e+300/s burst 1099511627776"},
		{"bucket 1e-08/s burst 1", bucketOf(1e-8, 1), ""},
		{"bucket 123456789/s burst 1", bucketOf(123456789, 1), ""},

		// Calendars.
		{"fixed 10000/day", windows(throttle.Fixed(10_000, oneDay, time.Time{})), "fixed 10000/day@UTC"},
		{"fixed 10000/day@UTC", windows(throttle.Fixed(10_000, oneDay, time.Time{})), ""},
		{"Fixed 10k rpd @ UTC ", windows(throttle.Fixed(10_000, oneDay, time.Time{})), "fixed 10000/day@UTC"},
		{"fixed 1 points/week@2026-11-23T00:00:00Z", windows(throttle.Fixed(1, 7*oneDay, time.Time{}).Of(throttle.Points)), "fixed 1 points/week@UTC"},
		{"fixed 9/h@2026-01-01T00:30:00Z", windows(throttle.Fixed(9, time.Hour, time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC))), ""},

		// Several.
		{"8 concurrent", throttle.Limits{Concurrency: 8}, ""},
		{"concurrency 8", throttle.Limits{Concurrency: 8}, "8 concurrent"},
		{"1k Concurrent", throttle.Limits{Concurrency: 1000}, "1000 concurrent"},
		{"8 concurrent,5/s", throttle.Limits{Concurrency: 8, Windows: slidingRequests(5, time.Second).Windows}, "5/s, 8 concurrent"},
		{
			"5/s, 300/min, 200000 tokens/min, bucket 10/s burst 20, fixed 10000/day@UTC, 8 concurrent",
			throttle.Limits{Concurrency: 8, Windows: []throttle.Window{
				throttle.Sliding(5, time.Second), throttle.Sliding(300, time.Minute),
				throttle.Sliding(200_000, time.Minute).Of(throttle.Tokens),
				throttle.Bucket(10, 20), throttle.Fixed(10_000, oneDay, time.Time{}),
			}},
			"",
		},
		{"\n\t5/s ,\u00a05/s\r\n", windows(throttle.Sliding(5, time.Second), throttle.Sliding(5, time.Second)), "5/s, 5/s"},
	} {
		got, err := throttle.ParseLimits(tc.text)
		if !assert.NoError(t, err, tc.text) {
			continue
		}
		if !strings.Contains(tc.text, "@20") {
			assert.Equal(t, tc.want, got, tc.text)
		}
		if tc.says == "" {
			tc.says = tc.text
		}
		assert.Equal(t, tc.says, got.String(), tc.text)
		assert.Equal(t, tc.says, tc.want.String(), tc.text)
	}
}

func TestParseLimitsRefuses(t *testing.T) {
	const (
		unitHelp   = "it is not a unit: write requests, tokens, input tokens, output tokens or points, or none for requests"
		periodHelp = ": write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m"
		limitHelp  = "it does not begin a limit: write one such as 5/s, bucket 10/s burst 20, fixed 10000/day@UTC or 8 concurrent"
		slashHelp  = "a / and a period are missing, as in 5/s; a number holds no commas or spaces"
		leftHelp   = "the limit ends before it: remove it, or write a comma between limits"
		emptyHelp  = `there are no limits: write some, such as "5/s, 8 concurrent", or unlimited`
		comma      = "a limit is missing: write one, such as 5/s, or remove the comma"
		digits     = "it is not a whole number in digits"
		number     = "a number is expected here, such as 200, 200_000 or 200k"
		stampHelp  = "it is not an RFC 3339 time, such as 2026-01-01T09:30:00-08:00"
	)
	zone := func(name string) string {
		return `the time zone "` + name + `" is unknown: write a name of the IANA database such as America/Los_Angeles, ` +
			"or a time with an offset; where a machine has no such database, import time/tzdata"
	}
	for _, tc := range []struct {
		text    string
		read    string
		offset  int
		problem string
	}{
		{"", "", 0, emptyHelp},
		{"  ", "", 2, emptyHelp},
		{"5/s,", "", 4, comma},
		{"5/s, ,6/s", "", 5, comma},
		{"five/s", "five", 0, limitHelp},
		{"/s", "/", 0, limitHelp},
		{"+5/s", "+", 0, limitHelp},
		{"\xff", "\xff", 0, limitHelp},
		{"5", "", 1, slashHelp},
		{"5 s", "s", 2, unitHelp},
		{"200 k/s", "k", 4, unitHelp},
		{"200 000 tokens/min", "000", 4, slashHelp},
		{"5/", "", 2, "a unit of time is missing" + periodHelp},
		{"5/15", "", 4, "a unit of time is missing" + periodHelp},
		{"5//s", "/", 2, "it is not a period" + periodHelp},
		{"5/fortnight", "fortnight", 2, "it is not a period" + periodHelp},
		{"5/3é", "é", 3, "it is not a period" + periodHelp},
		{"5/month", "month", 2, "a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins"},
		{"5/2 Months", "Months", 4, "a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins"},
		{"fixed 5/year@UTC", "year", 8, "a year has no fixed length: write 365days, or a fixed window of 365days with the day on which one begins"},
		{"5/1_0s", "1_0", 2, "so many s are not a duration, or longer than a century"},
		{"5/99999999999h", "99999999999", 2, "so many h are not a duration, or longer than a century"},
		{"5/2000000days", "2000000", 2, "so many days are not a duration, or longer than a century"},
		{"5/200y", "y", 5, "a year has no fixed length: write 365days, or a fixed window of 365days with the day on which one begins"},
		{"5/2000000h2000000h", "2000000", 2, "the period is too long: a century is the most"},
		{"5 apples/s", "apples", 2, unitHelp},
		{"5 input/s", "input", 2, unitHelp},
		{"5 input requests/s", "input", 2, unitHelp},
		{"5 rpx", "rpx", 2, unitHelp},
		{"5 xpm", "xpm", 2, unitHelp},
		{"5 rpm/s", "/", 5, leftHelp},
		{"5 tokens 5/s", "5", 9, slashHelp},
		{"5/s 6/s", "6", 4, leftHelp},
		{"5/s.", ".", 3, leftHelp},
		{"5/s; 6/s", ";", 3, "a semicolon separates keys: write a comma between limits"},
		{"5/s: 6/s", ":", 3, "a colon ends a key: leave the key out"},
		{"5/day@UTC", "@", 5, "only a fixed window has an anchor: write fixed before the number"},
		{"5/s burst 10", "burst", 4, "only a bucket has a burst: write bucket before the number"},
		{"bucket 5/s, burst 10", "burst", 12, "a burst belongs to its bucket: remove the comma before it"},
		{"5/s, unlimited", "unlimited", 5, "it cannot be combined with other limits: remove them, or it"},

		{"5.5/s", "5.5", 0, digits},
		{"1.0005k/s", "1.0005k", 0, digits},
		{"1e3/s", "1e3", 0, digits},
		{"5.5.5/s", "5.5.5", 0, digits},
		{"_5/s", "_", 0, limitHelp},
		{"5_/s", "5_", 0, "an underscore stands only between two digits"},
		{"5__0/s", "5__0", 0, "an underscore stands only between two digits"},
		{"5_.0/s", "5_.0", 0, "an underscore stands only between two digits"},
		{"9223372036854775808/s", "9223372036854775808", 0, "it is not between 1 and 1099511627776"},
		{"9999999999999999M/s", "9999999999999999M", 0, "it is not between 1 and 1099511627776"},

		{"bucket", "", 6, number},
		{"bucket ten/s", "ten", 7, number},
		{"bucket 1e5k/s", "1e5k", 7, "it is not a number"},
		{"bucket 1.2.3/s", "1.2.3", 7, "it is not a number"},
		{"bucket 5/0s", "5", 7, "its period, 0s, is not a positive duration"},
		{"bucket 5/-1s", "5", 7, "its period, -1s, is not a positive duration"},
		{"bucket 5/s burst", "", 16, number},
		{"bucket 5/s burst 1.5", "1.5", 17, digits},
		{"bucket 5/s burst 5 tokens", "tokens", 19, leftHelp},

		{"concurrency", "", 11, number},
		{"concurrency eight", "eight", 12, number},
		{"0 concurrent", "0", 0, "no call would ever be admitted: write at least 1, or leave it out for an unbounded concurrency"},
		{"8 concurrent calls", "calls", 13, leftHelp},
		{"8 concurrent, 5/s,  concurrency 9 ", "concurrency 9", 20, "the concurrency is limited twice: leave one out"},

		{"fixed 5/day@", "", 12, "the time zone is missing: write UTC, a name such as America/Los_Angeles, or an RFC 3339 time"},
		{"fixed 5/day@Europe/Atlantis", "Europe/Atlantis", 12, zone("Europe/Atlantis")},
		{"fixed 5/day@ ../zone ", "../zone", 13, zone("../zone")},
		{"fixed 5/day@2026-01-01", "2026-01-01", 12, stampHelp},
		{"fixed 5/day@20260101", "20260101", 12, stampHelp},
		{"fixed 5/day@2026-13-01T00:00:00Z", "2026-13-01T00:00:00Z", 12, stampHelp},
		{"fixed 5/day@2026-01-01T00:00:00Z[UTC", "2026-01-01T00:00:00Z[UTC", 12, "the ] after the time zone is missing"},
		{"fixed 5/day@2026-01-01T00:00:00Z[Mars]", "2026-01-01T00:00:00Z[Mars]", 12, zone("Mars")},
		{
			"fixed 5/day@2026-07-01T00:00:00-08:00[America/Los_Angeles]", "2026-07-01T00:00:00-08:00[America/Los_Angeles]", 12,
			"the offset is not that of America/Los_Angeles at this time, which is -07:00",
		},
	} {
		got, err := throttle.ParseLimits(tc.text)
		var parse *throttle.ParseError
		if assert.ErrorAs(t, err, &parse, tc.text) {
			assert.Equal(t, throttle.ParseError{Text: tc.read, Offset: tc.offset, Problem: tc.problem}, *parse, tc.text)
			assert.Len(t, joinedErrors(err), 1, tc.text)
		}
		assert.Zero(t, got, tc.text)
	}
}

// joinedErrors are the errors that err joins.
func joinedErrors(err error) []error { return err.(interface{ Unwrap() []error }).Unwrap() }

// What can be read but not used is refused as Validate refuses it.
func TestParseLimitsValidates(t *testing.T) {
	for text, want := range map[string]string{
		"0/s":                              "Windows[0].Max: 0 is not between 1 and 1099511627776",
		"-5/s":                             "Windows[0].Max: -5 is not between 1 and 1099511627776",
		"5/s, 2000000M tpm":                "Windows[1].Max: 2000000000000 is not between 1 and 1099511627776",
		"5/0s":                             "Windows[0].Per: 0s is not a positive duration",
		"5/-1ns":                           "Windows[0].Per: -1ns is not a positive duration",
		"5/1000000h":                       "Windows[0].Per: 1000000h0m0s is longer than a century",
		"-1 concurrent":                    "Concurrency: -1 is negative: use 0 for unbounded, or at least 1",
		"bucket 0/s":                       "Windows[0].PerSecond: 0 is not a positive, finite rate",
		"bucket -3/s":                      "Windows[0].PerSecond: -3 is not a positive, finite rate",
		"bucket 1e999/s":                   "Windows[0].PerSecond: +Inf is not a positive, finite rate",
		"bucket 5/s burst 0":               "Windows[0].Max: 0 is not between 1 and 1099511627776",
		"bucket 1e-300/s":                  "Windows[0].PerSecond: 1e-300 takes longer than a century to fill a burst of 1",
		"fixed 0/day@UTC":                  "Windows[0].Max: 0 is not between 1 and 1099511627776",
		"fixed 1/0s@UTC":                   "Windows[0].Per: 0s is not a positive duration",
		"fixed 1/day@0001-01-01T00:00:00Z": "Windows[0].Anchor: the year 1 is not between 1900 and 2200",
	} {
		got, err := throttle.ParseLimits(text)
		require.EqualError(t, err, "throttle: "+want, text)
		var field *fault.FieldError
		assert.ErrorAs(t, err, &field, text)
		assert.Zero(t, got, text)
	}
}

func TestParseLimitsTellsEverything(t *testing.T) {
	_, err := throttle.ParseLimits("x, 0/s, 5/month, 8 concurrent, -1/0s, 9 concurrent, 0 concurrent, -1/s")
	assert.EqualError(t, err, strings.Join([]string{
		`throttle: limits: "x" at offset 0: it does not begin a limit: write one such as 5/s, bucket 10/s burst 20, fixed 10000/day@UTC or 8 concurrent`,
		`throttle: Windows[1].Max: 0 is not between 1 and 1099511627776`,
		`throttle: limits: "month" at offset 10: a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins`,
		`throttle: Windows[3].Per: 0s is not a positive duration`,
		`throttle: Windows[3].Max: -1 is not between 1 and 1099511627776`,
		`throttle: limits: "9 concurrent" at offset 38: the concurrency is limited twice: leave one out`,
		`throttle: limits: "0" at offset 52: no call would ever be admitted: write at least 1, or leave it out for an unbounded concurrency`,
		`throttle: Windows[4].Max: -1 is not between 1 and 1099511627776`,
	}, "\n"))
}

// A hostile text costs little and says little.
func TestParseLimitsIsBounded(t *testing.T) {
	const most = 64 << 10
	long := strings.Repeat("5/s,", most/4-1) + " 5/s"
	l, err := throttle.ParseLimits(long)
	require.NoError(t, err)
	assert.Len(t, l.Windows, most/4)

	_, err = throttle.ParseLimits(long + " ")
	var parse *throttle.ParseError
	require.True(t, errors.As(err, &parse))
	assert.Equal(t, "the text has 65537 bytes, and 65536 are the most", parse.Problem)
	assert.Less(t, len(err.Error()), 200)

	for _, piece := range []string{",", "0/s,", "-1/0s,", "9", "a", "1h", "/", "_", "1.", "é", "-", "fixed 1/s@" + strings.Repeat("z", 4000) + ","} {
		_, err = throttle.ParseLimits(strings.Repeat(piece, most/len(piece)))
		require.Error(t, err, piece)
		assert.LessOrEqual(t, len(joinedErrors(err)), 21, piece)
		assert.Less(t, len(err.Error()), 10_000, piece)
	}
}

func TestABucketWithoutABurstHoldsWhatItRefillsInThePeriodAsWritten(t *testing.T) {
	for text, cost := range map[string]throttle.Cost{
		"bucket 10000 tokens/min": {Tokens: 10_000},
		"bucket 10k tpm":          {Tokens: 10_000},
		"bucket 600 points/h":     {Points: 600},
		"bucket 40/15min":         {Requests: 40},
		"bucket 2.5/s":            {Requests: 3},
	} {
		limits, err := throttle.ParseLimits(text)
		require.NoError(t, err, text)
		l, err := throttle.New(limits)
		require.NoError(t, err, text)
		p, err := l.TryAcquire(cost)
		if assert.NoError(t, err, text) {
			p.Cancel()
		}
	}
}
