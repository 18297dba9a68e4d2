package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRealClock(t *testing.T) {
	for name, c := range map[string]clockwork.Clock{"nil": nil, "the real one": clockwork.NewRealClock()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := clock.New(c)
				begin := time.Now()
				assert.Zero(t, k.Elapsed())
				assert.Equal(t, begin, k.Now())
				time.Sleep(3 * time.Second)
				assert.Equal(t, 3*time.Second, k.Elapsed())
				assert.Equal(t, begin.Add(3*time.Second), k.Now())
				assert.Equal(t, begin.Add(time.Hour), k.At(time.Hour))
				assert.Equal(t, time.Hour, k.Until(begin.Add(time.Hour)))
				assert.Equal(t, -time.Hour, k.Until(begin.Add(-time.Hour)))
				assert.Equal(t, clockwork.NewRealClock(), k.Underlying())

				var at time.Duration
				k.AfterFunc(time.Second, func() { at = k.Elapsed() })
				stopped := k.AfterFunc(time.Second, func() { assert.Fail(t, "stopped") })
				assert.True(t, stopped.Stop())
				time.Sleep(time.Second)
				synctest.Wait()
				assert.Equal(t, 4*time.Second, at)
			})
		})
	}
}

func TestFakeClock(t *testing.T) {
	fake := clockwork.NewFakeClockAt(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	begin := fake.Now()
	k := clock.New(fake)
	assert.Zero(t, k.Elapsed())
	fake.Advance(90 * time.Minute)
	assert.Equal(t, 90*time.Minute, k.Elapsed())
	assert.Equal(t, fake.Now(), k.Now())
	assert.Equal(t, fake.Now(), k.At(90*time.Minute))
	assert.Equal(t, 90*time.Minute, k.Until(fake.Now()))
	assert.Equal(t, begin, k.At(0))
	assert.Same(t, fake, k.Underlying())

	fired := make(chan struct{})
	k.AfterFunc(time.Second, func() { close(fired) })
	fake.Advance(time.Second)
	<-fired
}

// A wrapped real clock is not the real clock: it is asked.
func TestWrappedRealClock(t *testing.T) {
	k := clock.New(shifted{clockwork.NewRealClock()})
	assert.GreaterOrEqual(t, k.Elapsed(), time.Hour)
}

type shifted struct{ clockwork.Clock }

func (s shifted) Since(t time.Time) time.Duration { return s.Clock.Since(t) + time.Hour }

func TestAnAnchoredClockHasTheSameInstants(t *testing.T) {
	program := clock.Program()
	anchored := program.Anchored()
	assert.Zero(t, anchored.At(0).Sub(program.At(0)), "by the monotonic clock")

	synctest.Test(t, func(t *testing.T) {
		assert.Negative(t, clock.Ticks())
		wall := clock.New(nil)
		time.Sleep(time.Second)
		anchored := wall.Anchored()
		assert.Equal(t, time.Second, anchored.Elapsed())
		assert.True(t, anchored.Now().Equal(time.Now()))
	})

	fake := clock.New(clockwork.NewFakeClock())
	assert.Equal(t, fake, fake.Anchored())
}
