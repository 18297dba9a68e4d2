package providertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWindowStartsAnew(t *testing.T) {
	w := newWindow(FixedWindow{Max: 2, Per: time.Minute}, epoch, epoch)
	for _, step := range []struct {
		name  string
		now   time.Duration
		spend int
		wait  time.Duration
		quota quota
	}{
		{"untouched", 0, 0, 0, quota{2, 2, 0}},
		{"one of two", 50 * time.Second, 1, 0, quota{2, 1, 10 * time.Second}},
		{"used up", 50 * time.Second, 1, 10 * time.Second, quota{2, 0, 10 * time.Second}},
		{"more than used up", 50 * time.Second, 1, 10 * time.Second, quota{2, 0, 10 * time.Second}},
		{"the last nanosecond", time.Minute - 1, 0, 1, quota{2, 0, 1}},
		{"the next window", time.Minute, 0, 0, quota{2, 2, 0}},
		{"and its end", time.Minute, 2, time.Minute, quota{2, 0, time.Minute}},
		{"many windows later, still aligned", 10*time.Minute + 59*time.Second, 2, time.Second, quota{2, 0, time.Second}},
		{"a clock that steps back", 10*time.Minute + 58*time.Second, 0, 2 * time.Second, quota{2, 0, 2 * time.Second}},
	} {
		w.advance(at(step.now))
		for range step.spend {
			w.spend()
		}
		require.Equal(t, step.wait, w.wait(at(step.now)), step.name)
		require.Equal(t, step.quota, w.quota(at(step.now)), step.name)
	}
}

func TestWindowResizeKeepsTheCount(t *testing.T) {
	now := at(95 * time.Second)
	for _, c := range []struct {
		name string
		to   FixedWindow
		want quota
	}{
		{"the same", FixedWindow{Max: 5, Per: time.Minute}, quota{5, 2, 25 * time.Second}},
		{"more", FixedWindow{Max: 10, Per: time.Minute}, quota{10, 7, 25 * time.Second}},
		{"less", FixedWindow{Max: 1, Per: time.Minute}, quota{1, 0, 25 * time.Second}},
		{"shorter, aligned to the server's start", FixedWindow{Max: 5, Per: 10 * time.Second}, quota{5, 2, 5 * time.Second}},
		{"longer", FixedWindow{Max: 5, Per: time.Hour}, quota{5, 2, time.Hour - 95*time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindow(FixedWindow{Max: 5, Per: time.Minute}, epoch, now)
			for range 3 {
				w.spend()
			}
			w.resize(c.to, now)
			require.Equal(t, c.want, w.quota(now))
		})
	}
}
