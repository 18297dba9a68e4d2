package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRefusalsBetweenTwoCalls(t *testing.T) {
	var u Uncharged
	for _, seq := range []int64{3, 5, 4, 9} { // not in order
		u.Add(seq, float64(10*seq))
	}
	for name, c := range map[string]struct {
		a, b          int64
		calls, tokens float64
	}{
		"all":                 {0, 100, 4, 210},
		"after a":             {3, 100, 3, 180},
		"up to and with b":    {0, 5, 3, 120},
		"one heard too late":  {3, 4, 1, 40},
		"none between":        {5, 8, 0, 0},
		"none at all":         {9, 100, 0, 0},
		"the same call twice": {5, 5, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls, tokens := u.Between(c.a, c.b)
			assert.Equal(t, c.calls, calls)
			assert.Equal(t, c.tokens, tokens)
		})
	}
}

func TestRefusalsAreFoundBehindAFewOlderOnes(t *testing.T) {
	for older, want := range map[int]float64{0: 1, outOfOrder: 1, outOfOrder + 1: 0} {
		var u Uncharged
		u.Add(100, 1)
		for range older {
			u.Add(50, 1)
		}
		calls, tokens := u.Between(99, 100)
		assert.Equal(t, want, calls, "%d older", older)
		assert.Equal(t, want, tokens, "%d older", older)
	}
}

func TestRefusalsForgetTheOldest(t *testing.T) {
	var u Uncharged
	for seq := range int64(70) {
		u.Add(seq+1, 1)
	}
	calls, _ := u.Between(0, 70)
	assert.Equal(t, 64.0, calls)
	calls, _ = u.Between(0, 6)
	assert.Zero(t, calls)
}
