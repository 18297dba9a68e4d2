package tally_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/throttle"
)

func TestAmountsAreThoseOfTheCost(t *testing.T) {
	for _, c := range []throttle.Cost{{}, {Requests: 3, Tokens: 4, Input: 5, Output: 6, Points: 7}, {Input: 5, Output: 6}} {
		for u, n := range tally.Amounts(c) {
			assert.Equal(t, c.Of(throttle.Unit(u)), n, "%+v: %s", c, throttle.Unit(u))
		}
	}
}

func TestLimitsAreThoseOfTheWindows(t *testing.T) {
	anchor := time.Date(2026, time.March, 1, 9, 0, 0, 7, time.UTC)
	l := throttle.Limits{Concurrency: 3, Windows: []throttle.Window{
		throttle.Sliding(5, time.Minute).Of(throttle.Points), throttle.Bucket(1.0/3, 7).Of(throttle.Tokens),
		throttle.Fixed(9, 24*time.Hour, anchor).Of(throttle.OutputTokens), throttle.Fixed(9, time.Hour, time.Time{}),
	}}
	gauges := meter.Gauges(nil).Succeed(0, tally.Windows(l.Windows), time.Unix(0, 0), 0)
	assert.Equal(t, l, tally.Limits(3, gauges))
}
