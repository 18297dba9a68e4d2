package throttle_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/throttle"
)

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []event.Event
		var l *throttle.Limiter
		l = newLimiter(t, windows(throttle.Sliding(1, time.Second)), throttle.WithName("x"), throttle.WithObserver(event.Func(func(e event.Event) {
			_ = l.Stats() // the lock is not held
			heard = append(heard, e)
		})))
		begin := time.Now()
		expect := func(kind event.Kind, wait time.Duration, reason string, err error) {
			t.Helper()
			e := event.New(time.Now(), kind, "x")
			e.Wait, e.Reason, e.Err = wait, reason, err
			assert.Equal(t, []event.Event{e}, heard)
			heard = nil
		}
		require.NoError(t, l.Wait(t.Context(), throttle.Cost{}))
		assert.Empty(t, heard, "who goes at once is not told of")
		sleep(time.Second - 1)
		require.NoError(t, l.Wait(t.Context(), throttle.Cost{}))
		require.Equal(t, time.Second, time.Since(begin))
		expect(event.LimiterWaited, 1, "", nil)
		require.NoError(t, l.SetLimits(windows(throttle.Sliding(2, time.Minute))))
		expect(event.LimiterChanged, 0, "2/min", nil)
		require.NoError(t, l.SetConcurrency(3))
		expect(event.LimiterChanged, 0, "2/min, 3 concurrent", nil)
		require.Error(t, l.SetConcurrency(-1))
		require.Error(t, l.SetLimits(windows(throttle.Window{})))
		assert.Empty(t, heard, "nothing changed")
		l.PauseUntil(time.Now().Add(time.Minute))
		expect(event.LimiterPaused, time.Minute, "", nil)
		l.Resume()
		expect(event.LimiterReopened, 0, "the pause was ended", nil)
		enough := errors.New("enough")
		l.Close(enough)
		expect(event.LimiterClosed, 0, "", enough)
		l.Reopen()
		expect(event.LimiterReopened, 0, "", nil)
	})
}
