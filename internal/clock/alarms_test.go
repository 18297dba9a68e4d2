package clock_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/clock"
)

type ringer func()

func (r ringer) Ring() { r() }

// Alarms behave like a timer for each.
func TestAlarms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			var alarms clock.Alarms
			var mu sync.Mutex // guards went
			went := map[int]time.Duration{}
			want := map[int]time.Duration{}
			set := make([]clock.Alarm, rapid.IntRange(1, 8).Draw(rt, "alarms"))
			began := time.Now()
			for i := range set {
				set[i].To = ringer(func() {
					mu.Lock()
					defer mu.Unlock()
					went[i] = time.Since(began)
				})
			}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				time.Sleep(time.Duration(rapid.IntRange(0, 3).Draw(rt, "pause")) * time.Second)
				synctest.Wait()
				i := rapid.IntRange(0, len(set)-1).Draw(rt, "alarm")
				now := time.Since(began)
				at, is := want[i]
				waits := is && at > now
				assert.Equal(rt, waits, alarms.Clear(&set[i]))
				if waits {
					delete(want, i)
				}
				if rapid.Bool().Draw(rt, "set") {
					mu.Lock()
					delete(went, i)
					mu.Unlock()
					d := time.Duration(rapid.IntRange(1, 10).Draw(rt, "after")) * time.Second
					alarms.Set(&set[i], d)
					want[i] = now + d
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(rt, want, went)
			runtime.KeepAlive(&alarms)
		})
	})
}

// A timer that is left does not keep what the alarms are part of.
func TestAlarmsAreFreedBeforeTheirTimer(t *testing.T) {
	owner := new(struct {
		alarms clock.Alarms
		alarm  clock.Alarm
	})
	owner.alarms.Set(&owner.alarm, time.Hour)
	owner.alarms.Clear(&owner.alarm)
	left := weak.Make(owner)
	runtime.GC()
	assert.Nil(t, left.Value())
}

// A fake clock has no timer for alarms that are not set.
func TestAlarmsOfAFakeClock(t *testing.T) {
	fake := clockwork.NewFakeClock()
	c := clock.New(fake)
	alarms := clock.Alarms{Clock: &c}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rang := make(chan struct{}, 1)
	one, other := clock.Alarm{To: ringer(func() { rang <- struct{}{} })}, clock.Alarm{}
	for range 3 {
		alarms.Set(&one, time.Hour)
		alarms.Set(&other, time.Minute)
		alarms.Clear(&other)
		assert.NoError(t, fake.BlockUntilContext(ended, 1))
		alarms.Clear(&one)
		assert.Error(t, fake.BlockUntilContext(ended, 1))
	}
	alarms.Set(&one, time.Hour)
	fake.Advance(time.Hour)
	<-rang
	assert.Error(t, fake.BlockUntilContext(ended, 1))
	runtime.KeepAlive(&alarms)
}

// What is set and cleared costs no timer each time.
func TestAlarmsAllocateNothing(t *testing.T) {
	var alarms clock.Alarms
	all := make([]clock.Alarm, 4)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range all {
			alarms.Set(&all[i], time.Hour)
		}
		for i := range slices.Backward(all) {
			alarms.Clear(&all[i])
		}
	}))
}
