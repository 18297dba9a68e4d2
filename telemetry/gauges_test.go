package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/telemetry"
	"github.com/headrace/headrace/throttle"
)

func limiter(t *testing.T, name string, concurrency int) *guard.Guard {
	t.Helper()
	l, err := guard.New(guard.Policy{
		Name: name, Limits: throttle.Limits{Concurrency: concurrency}, Law: adaptive.AIMD{Initial: 8, Max: 8},
	})
	require.NoError(t, err)
	return l
}

// A limiter is reported while it is watched, and no callback is left behind.
func TestWatch(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	assert.Nil(t, r.looked(t))
	l := limiter(t, "a", 5)
	stop, again := o.Watch(l, nil), o.Watch(l)
	require.NoError(t, l.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
		assert.Equal(t, []string{
			"headrace.limiter.in_flight=1 headrace.limiter.name=a",
			"headrace.limiter.limit=5 headrace.limiter.name=a",
			"headrace.limiter.waiting=0 headrace.limiter.name=a",
		}, r.looked(t), "once, though it is watched twice") //nolint:contextcheck // the SDK has its own
		return nil
	}))
	stop()
	stop()
	assert.Len(t, r.looked(t), 3, "another watches it still")
	again()
	assert.Nil(t, r.looked(t))
	again()

	more := o.Watch(limiter(t, "b", 3), limiter(t, "c", 0), limiter(t, "a", 0))
	assert.Equal(t, []string{
		"headrace.limiter.in_flight=0 headrace.limiter.name=_OTHER",
		"headrace.limiter.in_flight=0 headrace.limiter.name=a",
		"headrace.limiter.limit=11 headrace.limiter.name=_OTHER",
		"headrace.limiter.limit=8 headrace.limiter.name=a",
		"headrace.limiter.waiting=0 headrace.limiter.name=_OTHER",
		"headrace.limiter.waiting=0 headrace.limiter.name=a",
	}, r.looked(t))
	more()
	assert.Nil(t, r.looked(t))
}

// The progress of a run tells of its limiters until the last word.
func TestLimitersOfProgress(t *testing.T) {
	r, o := record(t, telemetry.Config{})
	elapsed := time.Duration(0)
	tellOf := func(run string, began time.Duration, final bool, limiters ...event.LimiterProgress) {
		elapsed += time.Minute
		e := event.New(time.Now(), event.FlowProgress, run)
		e.Progress = &event.Progress{
			Time: time.Unix(0, 0).Add(began + elapsed), Elapsed: elapsed, Name: run, Final: final, Limiters: limiters,
		}
		o.Observe(e)
	}
	tell := func(run string, final bool, limiters ...event.LimiterProgress) { tellOf(run, 0, final, limiters...) }
	a := event.LimiterProgress{Name: "a", Live: true, InFlight: 2, Waiting: 3, Pace: map[string]float64{"requests": 1.5}}
	tell("f", false, a, event.LimiterProgress{Name: "not looked at"})
	assert.Equal(t, []string{
		"headrace.limiter.in_flight=2 headrace.limiter.name=a",
		"headrace.limiter.pace=1.5 headrace.limiter.name=a headrace.unit=requests",
		"headrace.limiter.waiting=3 headrace.limiter.name=a",
	}, r.looked(t))
	stop := o.Watch(limiter(t, "a", 1))
	assert.Contains(t, r.looked(t), "headrace.limiter.in_flight=0 headrace.limiter.name=a", "who looks knows better")
	stop()
	b := a
	b.Name = "b"
	tell("g", false, b)
	tell("f", true, a)
	assert.Contains(t, r.looked(t), "headrace.limiter.in_flight=2 headrace.limiter.name=b")
	tell("g", false)
	assert.Nil(t, r.looked(t))

	tell("f", false, a)
	tellOf("f", time.Second, false, b)
	tell("f", false, a)
	assert.Len(t, r.looked(t), 6, "of two runs of a flow that go on at once")
	tellOf("f", time.Second, true)
	assert.Len(t, r.looked(t), 3)
	tell("f", true)
	assert.Nil(t, r.looked(t))
	o.Observe(event.New(time.Now(), event.FlowProgress, "f")) // of an emitter that leaves Progress out
}
