package throttle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/throttle"
)

func TestErrors(t *testing.T) {
	limited := &throttle.LimitedError{Limiter: "a", RetryAfter: 1500 * time.Millisecond, Bound: throttle.Bound{
		Kind: throttle.BoundByWindow, Window: throttle.Sliding(10, time.Minute).Of(throttle.Tokens), Wait: 1500 * time.Millisecond,
	}}
	forever := &throttle.LimitedError{Limiter: "a", RetryAfter: time.Second, Bound: throttle.Bound{Kind: throttle.BoundByConcurrency, Wait: throttle.Forever}}
	bad := &throttle.CostError{Limiter: "a", Unit: throttle.Points, Amount: -3, Max: throttle.MaxAmount}
	large := &throttle.CostError{Limiter: "a", Amount: 9, Max: 5, Window: throttle.Sliding(5, time.Second)}
	for _, e := range []error{limited, forever} {
		assert.ErrorIs(t, e, throttle.ErrLimited)
		assert.NotErrorIs(t, e, throttle.ErrCost)
	}
	for _, e := range []error{bad, large} {
		assert.ErrorIs(t, e, throttle.ErrCost)
		assert.NotErrorIs(t, e, throttle.ErrLimited)
	}
	assert.EqualError(t, limited, `throttle: limiter "a": limited by 10 tokens/min, retry after 1.5s`)
	assert.EqualError(t, forever, `throttle: limiter "a": limited by the concurrency until a call ends`)
	assert.EqualError(t, &throttle.LimitedError{Limiter: "a", RetryAfter: time.Second}, `throttle: limiter "a": limited, retry after 1s`)
	for wait, want := range map[time.Duration]string{
		1: "1ms", 9*time.Second + 1: "9.001s", 59*time.Minute + 59*time.Second + 998869711: "1h0m0s",
	} {
		assert.EqualError(t, &throttle.LimitedError{Limiter: "a", RetryAfter: wait}, `throttle: limiter "a": limited, retry after `+want)
	}
	assert.EqualError(t, bad, `throttle: limiter "a": a cost of -3 points is not between 0 and 1099511627776`)
	assert.EqualError(t, large,
		`throttle: limiter "a": a cost of 9 requests never fits the window of 5/s: split the call or raise the limit`)
}

func TestNames(t *testing.T) {
	assert.Equal(t, "requests", throttle.Requests.String())
	assert.Equal(t, "tokens", throttle.Tokens.String())
	assert.Equal(t, "input tokens", throttle.InputTokens.String())
	assert.Equal(t, "output tokens", throttle.OutputTokens.String())
	assert.Equal(t, "points", throttle.Points.String())
	assert.Equal(t, "Unit(5)", throttle.Units.String())

	w := throttle.Bucket(2.5, 10).Of(throttle.Tokens)
	assert.Equal(t, "bucket 2.5 tokens/s burst 10", w.String())
	assert.Equal(t, throttle.Tokens, w.Unit())
	assert.Equal(t, int64(10), w.Max())
	assert.Equal(t, "100/min", throttle.Sliding(100, time.Minute).String())
}
