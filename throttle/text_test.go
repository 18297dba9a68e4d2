package throttle_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

func TestLimitsInJSON(t *testing.T) {
	type config struct {
		Limits  throttle.Limits
		Window  throttle.Window
		Nothing throttle.Window
	}
	c := config{
		Limits: throttle.Limits{Concurrency: 3, Windows: []throttle.Window{throttle.Sliding(5, time.Second)}},
		Window: throttle.Bucket(2.5, 10).Of(throttle.Points),
	}
	const text = `{"Limits":"5/s, 3 concurrent","Window":"bucket 2.5 points/s burst 10","Nothing":""}`
	b, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Equal(t, text, string(b))
	got := config{Nothing: throttle.Sliding(1, 1)}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, c, got)

	b, err = json.Marshal(config{})
	require.NoError(t, err)
	assert.Equal(t, `{"Limits":"unlimited","Window":"","Nothing":""}`, string(b))
}

func TestMarshalTextRefuses(t *testing.T) {
	for _, tc := range []struct {
		window throttle.Window
		want   string
	}{
		{throttle.Window{}.Of(throttle.Tokens), ": the window is empty: make it with Sliding, Bucket or Fixed"},
		{throttle.Sliding(0, time.Second), ".Max: 0 is not between 1 and 1099511627776"},
		{throttle.Bucket(math.Inf(1), 1), ".PerSecond: +Inf is not a positive, finite rate"},
		{throttle.Fixed(1, 0, time.Time{}), ".Per: 0s is not a positive duration"},
	} {
		b, err := tc.window.MarshalText()
		assert.EqualError(t, err, "throttle: Window"+tc.want)
		assert.Nil(t, b)
		b, err = windows(tc.window).MarshalText()
		assert.EqualError(t, err, "throttle: Windows[0]"+tc.want)
		assert.Nil(t, b)
	}
}

// The text of what Validate refuses is refused too.
func TestStringOfInvalidLimits(t *testing.T) {
	for text, l := range map[string]throttle.Limits{
		"-2 concurrent":                   {Concurrency: -2},
		"window without an algorithm":     windows(throttle.Window{}),
		"5 Unit(9)/s":                     windows(throttle.Sliding(5, time.Second).Of(9)),
		"-5/s":                            windows(throttle.Sliding(-5, time.Second)),
		"5/0s":                            windows(throttle.Sliding(5, 0)),
		"5/-1h0m0s":                       windows(throttle.Sliding(5, -time.Hour)),
		"bucket NaN/s burst 1":            windows(throttle.Bucket(math.NaN(), 1)),
		"bucket +Inf/s burst 1":           windows(throttle.Bucket(math.Inf(1), 1)),
		"bucket 0/s burst 1":              windows(throttle.Bucket(0, 1)),
		"bucket -1/s burst 1":             windows(throttle.Bucket(-1, 1)),
		"fixed 5/0s@1970-01-05T00:00:00Z": windows(throttle.Fixed(5, 0, time.Time{})),
	} {
		assert.Equal(t, text, l.String())
		_, err := throttle.ParseLimits(text)
		assert.Error(t, err, text)
	}
}

func TestUnmarshalTextLeavesWhatItCannotReplace(t *testing.T) {
	l := throttle.Limits{Concurrency: 3}
	for _, text := range []string{"", "0/s", "x"} {
		assert.Error(t, l.UnmarshalText([]byte(text)), text)
	}
	assert.Equal(t, throttle.Limits{Concurrency: 3}, l)
	assert.NoError(t, l.UnmarshalText([]byte("unlimited")))
	assert.Zero(t, l)

	w := throttle.Sliding(1, 1)
	for text, want := range map[string]string{
		" ":             `throttle: limits: "" at offset 1: a limit is missing: write one, such as 5/s, or remove the comma`,
		"0/s":           "throttle: Window.Max: 0 is not between 1 and 1099511627776",
		"5/s, 6/s":      `throttle: limits: "," at offset 3: the limit ends before it: remove it, or write a comma between limits`,
		" 8 concurrent": `throttle: limits: "8" at offset 1: a concurrency is not a window: read it as Limits`,
		"unlimited":     `throttle: limits: "unlimited" at offset 0: it cannot be combined with other limits: remove them, or it`,
	} {
		assert.EqualError(t, w.UnmarshalText([]byte(text)), want)
	}
	assert.ErrorContains(t, w.UnmarshalText(make([]byte, 64<<10+1)), "the text has 65537 bytes")
	assert.Equal(t, throttle.Sliding(1, 1), w)
	assert.NoError(t, w.UnmarshalText([]byte("5/s")))
	assert.Equal(t, throttle.Sliding(5, time.Second), w)
}
