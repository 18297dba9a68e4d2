package breaker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/hook"
)

func TestABreakerWithATicketIsNotIdle(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{})
	idle := hook.Open[interface{ Idle() bool }](b).Idle
	assert.True(t, idle())
	ticket := allow(t, b)
	assert.False(t, idle())
	ticket.Cancel()
	assert.True(t, idle())
}

func TestFirstEndWins(t *testing.T) {
	ends := map[string]func(breaker.Ticket) bool{
		"Success": func(k breaker.Ticket) bool { return k.End(context.Background(), nil) },
		"Failure": func(k breaker.Ticket) bool { return k.Failure(errDown) },
		"Cancel":  breaker.Ticket.Cancel,
		"End":     func(k breaker.Ticket) bool { return k.End(context.Background(), errDown) },
	}
	for first, end := range ends {
		b, _ := newBreaker(t, breaker.Config{})
		ticket := allow(t, b)
		again := ticket
		assert.True(t, end(ticket), first)
		after := b.Stats()
		for second, end := range ends {
			assert.False(t, end(again), "%s after %s", second, first)
			assert.Equal(t, after, b.Stats(), "%s after %s", second, first)
		}
		next := allow(t, b) // on the same record
		assert.False(t, ticket.Failure(errDown))
		assert.Equal(t, 1, b.Stats().InFlight)
		assert.True(t, next.Cancel())
		assert.Zero(t, b.Stats().InFlight)

		assert.False(t, end(breaker.Ticket{}), "the zero ticket")
	}
}

func TestTicketsCountAsTheyEnd(t *testing.T) {
	b, _ := newBreaker(t, breaker.Config{Failures: 2})
	first, second, third := allow(t, b), allow(t, b), allow(t, b)
	second.Failure(nil)
	assert.Equal(t, 1, b.Stats().Failures)
	third.Cancel()
	assert.Equal(t, 1, b.Stats().Failures)
	first.End(t.Context(), errDown)
	assert.Equal(t, breaker.Open, b.Stats().State)
	assert.Equal(t, errDown, b.Stats().Cause)
}

// A transport may learn how a call went long after it was admitted.
func TestSlowCallsOfAnotherTime(t *testing.T) {
	b, clock := newBreaker(t, breaker.Config{Failures: 1})
	slow, slower := allow(t, b), allow(t, b)
	_ = do(t, b, errDown)
	clock.Advance(b.Stats().RetryAfter)
	probe := allow(t, b)
	before := b.Stats()

	assert.True(t, slow.End(context.Background(), nil))
	assert.True(t, slower.Failure(errors.New("late")))
	before.InFlight -= 2
	assert.Equal(t, before, b.Stats(), "no state, no probe, no cause")
	assert.True(t, probe.End(context.Background(), nil))
	assert.Equal(t, 1, b.Successes())
}

// A probe that begins to answer counts at once, and again only if it fails.
func TestAProbeThatAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		successes int
		end       func(breaker.Ticket) bool
		want      breaker.State
		counted   int
	}{
		"ends well":               {1, func(k breaker.Ticket) bool { return k.End(context.Background(), nil) }, breaker.Closed, 0},
		"is cancelled":            {1, breaker.Ticket.Cancel, breaker.Closed, 0},
		"fails":                   {1, func(k breaker.Ticket) bool { return k.Failure(errDown) }, breaker.Open, 0},
		"one of two ends well":    {2, func(k breaker.Ticket) bool { return k.End(context.Background(), nil) }, breaker.HalfOpen, 1},
		"one of two is cancelled": {2, breaker.Ticket.Cancel, breaker.HalfOpen, 1},
		"one of two fails":        {2, func(k breaker.Ticket) bool { return k.Failure(errDown) }, breaker.Open, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := halfOpen(t, breaker.Config{Successes: c.successes})
			answers := hook.Open[interface{ Answers(k breaker.Ticket) }](b).Answers
			ticket := allow(t, b)
			for range 2 {
				answers(ticket)
				assert.Equal(t, c.counted, b.Successes())
				assert.Zero(t, b.Probes())
			}
			assert.Equal(t, 1, b.Stats().InFlight)
			assert.True(t, c.end(ticket))
			answers(ticket)
			assert.Equal(t, c.want, b.Stats().State)
			assert.Zero(t, b.Probes())
		})
	}
}

// Probed reports when the probes under way no longer hold up other calls, whatever ends that.
func TestProbed(t *testing.T) {
	answers := func(b *breaker.Breaker, k breaker.Ticket) {
		hook.Open[interface{ Answers(k breaker.Ticket) }](b).Answers(k)
	}
	for name, end := range map[string]func(*breaker.Breaker, breaker.Ticket){
		"success": func(_ *breaker.Breaker, k breaker.Ticket) { k.End(context.Background(), nil) },
		"failure": func(_ *breaker.Breaker, k breaker.Ticket) { k.Failure(errDown) },
		"cancel":  func(_ *breaker.Breaker, k breaker.Ticket) { k.Cancel() },
		"answers": answers,
		"reset":   func(b *breaker.Breaker, _ breaker.Ticket) { b.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := halfOpen(t, breaker.Config{})
			probed := hook.Open[interface{ Probed() <-chan struct{} }](b).Probed
			isClosed := func(c <-chan struct{}) bool {
				select {
				case <-c:
					return true
				default:
					return false
				}
			}
			assert.True(t, isClosed(probed()), "no probe is under way")
			probe := allow(t, b)
			one, other := probed(), probed()
			assert.False(t, isClosed(one))
			end(b, probe)
			assert.True(t, isClosed(one))
			assert.True(t, isClosed(other))
			assert.True(t, isClosed(probed()))
			probe.Cancel()
		})
	}
}

// The answer of a call that was admitted before the breaker opened says nothing about a probe.
func TestAnAnswerOfAnotherTime(t *testing.T) {
	b, clock := newBreaker(t, breaker.Config{Failures: 1})
	answers := hook.Open[interface{ Answers(k breaker.Ticket) }](b).Answers
	slow := allow(t, b)
	answers(slow)
	_ = do(t, b, errDown)
	answers(slow)
	clock.Advance(b.Stats().RetryAfter)
	probe := allow(t, b)
	answers(slow)
	answers(breaker.Ticket{})
	assert.Equal(t, 1, b.Probes())
	assert.True(t, probe.Cancel())
	assert.True(t, slow.Cancel())
}

func TestNothingIsAllocated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	ctx := t.Context()
	b, err := breaker.New(breaker.Config{Failures: 1 << 30})
	assert.NoError(t, err)
	probing, _ := halfOpen(t, breaker.Config{Successes: 1 << 30})
	calls := 0
	var answer error
	succeed := func(context.Context) error { calls++; return answer }
	for name, f := range map[string]func(){
		"Do":             func() { _ = b.Do(ctx, succeed) },
		"Do, closure":    func() { _ = b.Do(ctx, func(context.Context) error { calls++; return nil }) },
		"Do, probe":      func() { _ = probing.Do(ctx, succeed) },
		"Allow, End nil": func() { k, _ := b.Allow(ctx); k.End(ctx, nil) },
		"Allow, Failure": func() { k, _ := b.Allow(ctx); k.Failure(errDown) },
		"Allow, Cancel":  func() { k, _ := b.Allow(ctx); k.Cancel() },
		"Allow, End err": func() { k, _ := b.Allow(ctx); k.End(ctx, errDown) },
		"Stats":          func() { _ = b.Stats() },
	} {
		assert.Zero(t, testing.AllocsPerRun(1000, f), name)
	}
}
