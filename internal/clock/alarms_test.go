package clock_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		})
	})
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
