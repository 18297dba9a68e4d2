package adaptive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// machine drives the state of a law by hand, as the limiter would.
type machine struct {
	adaptive.State
	now time.Time
	seq int64
}

func start(t *testing.T, law adaptive.Law) *machine {
	t.Helper()
	return startSeed(t, law, 1)
}

func startSeed(t *testing.T, law adaptive.Law, seed uint64) *machine {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := law.Start(now, seed)
	require.NoError(t, err)
	return &machine{State: s, now: now}
}

func (m *machine) after(d time.Duration) *machine {
	m.now = m.now.Add(d)
	return m
}

// send notes n admissions at this instant.
func (m *machine) send(n int) []throttle.Sent {
	sent := make([]throttle.Sent, n)
	for i := range sent {
		m.seq++
		sent[i] = throttle.Sent{Seq: m.seq, At: m.now}
		m.OnSend(m.now, sent[i])
	}
	return sent
}

func (m *machine) answer(f adaptive.Feedback, sent ...throttle.Sent) {
	for _, s := range sent {
		m.OnResult(m.now, s, 0, f)
	}
}

// trip sends n calls and has them answered d later.
func (m *machine) trip(n int, d time.Duration, f adaptive.Feedback) {
	sent := m.send(n)
	m.after(d).answer(f, sent...)
}

// window is how many calls the controller lets go when nothing else holds them back.
func (m *machine) window() int { return m.View().Concurrency }

// gate is how long no call is admitted.
func (m *machine) gate() time.Duration { return m.View().GateUntil.Sub(m.now) }

func (m *machine) admit(inFlight int) time.Duration {
	return m.Admit(m.now, throttle.Cost{}, inFlight)
}

func of(v adaptive.Verdict) adaptive.Feedback { return adaptive.Feedback{Verdict: v} }

func hitAfter(d time.Duration) adaptive.Feedback {
	return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: d}
}

// assertJittered checks that got is want or at most a tenth more.
func assertJittered(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.GreaterOrEqual(t, got, want)
	assert.LessOrEqual(t, got, want+want/10)
}
