package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLabel(t *testing.T) {
	same := func(n int) (levels []int) {
		for range labelEpochs {
			levels = append(levels, n)
		}
		return levels
	}
	for _, c := range []struct {
		name    string
		taken   int // calls between two refusals
		others  int // in flight when each of them left
		refused []int
		wrong   bool
	}{
		{"all at one level, where nothing is taken", 20, 9, same(10), true},
		{"once too few", 20, 9, same(10)[1:], false},
		{"near enough", 20, 9, []int{10, 11, 9, 10, 11, 10}, true},
		{"near enough of many", 20, 90, []int{100, 105, 95, 100, 100, 100}, true},
		{"elsewhere once", 20, 9, []int{10, 10, 10, 12, 10, 10}, false},
		{"not since a limit that fell", 20, 4, append([]int{10, 10, 10}, same(5)...), true},
		{"as many are taken there", 20, 10, same(10), false},
		{"and above", 20, 12, same(10), false},
		{"too few are taken to tell", 4, 9, same(10), false},
		{"a call that has but one other beside it", 20, 0, same(1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l Label
			var wrong bool
			for _, level := range c.refused {
				assert.False(t, wrong, "not before the last")
				for range c.taken {
					l.Taken(c.others)
				}
				wrong = l.Refused(level)
			}
			assert.Equal(t, c.wrong, wrong)
		})
	}
}

func TestALabelIsWeighedAnew(t *testing.T) {
	var l Label
	for range 2 * labelEpochs {
		for range 20 {
			l.Taken(9)
		}
		l.Refused(10)
	}
	assert.True(t, l.Refused(10), "as long as they come there")
	assert.False(t, l.Refused(13))
	assert.False(t, l.Refused(10), "and it takes as many again")
}

// What was taken above a limit before it fell says nothing about the new one.
func TestALabelForgetsWhatWasTakenElsewhere(t *testing.T) {
	var l Label
	for _, level := range []int{10, 5} {
		for range labelEpochs {
			for range 20 {
				l.Taken(level - 1)
			}
			l.Refused(level)
		}
	}
	assert.True(t, l.Refused(5))
}

// A quarter of the calls may be taken there: a place becomes free meanwhile.
func TestSomeCallsAreTakenAtALevelThatRefuses(t *testing.T) {
	for at, want := range map[int]bool{25: true, 26: false} {
		var l Label
		for range labelEpochs - 1 {
			l.Refused(10)
		}
		for i := range 100 {
			l.Taken(map[bool]int{true: 10, false: 9}[i < at])
		}
		assert.Equal(t, want, l.Refused(10))
	}
}
