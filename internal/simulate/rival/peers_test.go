package rival_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// window is the size of the pool of p.
func window(p client.Policy) int { return int(p.(client.Gauged).Gauge().Window) }

func TestInspectAI(t *testing.T) {
	p := start(t, "inspect_ai")
	admit := func(at time.Duration, n, refusals int) {
		for range n {
			p.Answered(at, &client.Call{Refusals: refusals}, 0, yes)
		}
	}
	assert.Equal(t, 20, window(p))
	admit(0, 19, 0)
	assert.Equal(t, 20, window(p), "a round is not over")
	admit(0, 1, 0)
	assert.Equal(t, 40, window(p), "it doubles until it is refused")

	for range 5 {
		p.Answered(second, &client.Call{Refusals: 1}, 0, no)
	}
	assert.Equal(t, 30, window(p), "one cut for all refusals of an episode, down to a multiple of five")
	admit(10*second, 100, 0)
	assert.Equal(t, 30, window(p), "15 s of cooldown")
	admit(16*second, 100, 1)
	assert.Equal(t, 30, window(p), "a success after a retry does not count")
	admit(16*second, 30, 0)
	assert.Equal(t, 35, window(p), "5 % a round, up to a multiple of five")

	p.Answered(20*second, &client.Call{Refusals: 1}, 0, &provider.Answer{RetryAfter: 40 * second})
	p.Answered(21*second, &client.Call{Refusals: 1}, 0, &provider.Answer{RetryAfter: 50 * second})
	assert.Equal(t, 25, window(p))
	admit(70*second, 100, 0)
	assert.Equal(t, 25, window(p), "a longer Retry-After prolongs the cooldown")
	admit(71*second, 25, 0)
	assert.Equal(t, 30, window(p))
}

func TestPromptfoo(t *testing.T) {
	p := startWith(t, "promptfoo", client.Seat{Pool: 32, Seed: 1, Processes: 1})
	took := func(d time.Duration, n int) {
		for range n {
			p.Answered(d, &client.Call{}, 0, yes)
		}
	}
	assert.Equal(t, 32, window(p))
	p.Answered(0, &client.Call{Refusals: 1}, 0, no)
	p.Answered(0, &client.Call{Refusals: 1}, 0, no)
	assert.Equal(t, 8, window(p), "every refusal of a burst halves it")
	took(second, 5)
	assert.Equal(t, 12, window(p), "half more after five successes")
	took(second, 10)
	assert.Equal(t, 27, window(p))
	took(second, 50)
	assert.Equal(t, 32, window(p), "no more than the user said")
	took(4*second, 1) // on average 1.6 s, of 1 s at best
	assert.Equal(t, 25, window(p))
	took(4*second, 5)
	assert.Equal(t, 25, window(p), "one cut in a window")
}

func TestNall(t *testing.T) {
	p := startWith(t, "Nall", client.Seat{Seed: 1, Processes: 2})
	pace := func() float64 { return p.(client.Gauged).Gauge().Pace }
	call := &client.Call{}
	assert.Equal(t, 5.0, pace(), "600 a minute, of two instances")
	assert.Zero(t, p.Admit(0, call, 0))
	p.Sent(0, call)
	assert.Equal(t, 200*time.Millisecond, p.Admit(0, call, 0))
	assert.Zero(t, p.Admit(200*time.Millisecond, call, 0))
	p.Answered(9*second, call, 0, yes)
	assert.Equal(t, 5.0, pace())
	p.Answered(10*second, call, 0, yes)
	assert.Equal(t, 6.0, pace(), "120 a minute more after ten seconds in which calls waited")
	p.Answered(21*second, call, 0, yes)
	assert.Equal(t, 6.0, pace(), "none waited since")

	hit := &client.Call{Refusals: 1}
	p.Answered(30*second, hit, 0, &provider.Answer{RetryAfter: 2 * second})
	assert.InDelta(t, 4.2, pace(), 1e-9)
	p.Answered(34*second, hit, 0, no)
	assert.InDelta(t, 4.2, pace(), 1e-9, "5 s of cooldown")
	p.Answered(40*second, hit, 0, &provider.Answer{RetryAfter: 2 * second})
	assert.InDelta(t, 2.94, pace(), 1e-9)
	assert.Equal(t, second, p.Admit(41*second, call, 0), "Retry-After pauses all")
	for at := range 20 {
		p.Answered(time.Duration(50+10*at)*second, hit, 0, no)
	}
	assert.Equal(t, 0.5, pace(), "60 a minute at least")
}
