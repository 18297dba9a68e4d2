package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFatesTellWhetherACallPassed(t *testing.T) {
	var f Fates
	for seq := int64(1); seq <= 5; seq++ {
		f.Sent(Call{Seq: seq, At: float64(seq)})
	}
	f.Refused(2)
	f.Refused(3)
	for name, c := range map[string]struct {
		a, b          int64
		by            float64
		passed, known bool
	}{
		"one of them was not refused": {a: 1, b: 5, by: 9, passed: true, known: true},
		"both were":                   {a: 1, b: 4, by: 9, known: true},
		"it left too late":            {a: 1, b: 5, by: 3.5, known: true},
		"there is none between":       {a: 4, b: 5, by: 9, known: true},
		"one is not known":            {a: 4, b: 7, by: 9},
	} {
		t.Run(name, func(t *testing.T) {
			passed, known := f.Passed(c.a, c.b, c.by)
			assert.Equal(t, c.passed, passed)
			assert.Equal(t, c.known, known)
		})
	}
}

func TestFatesForgetOldCalls(t *testing.T) {
	var f Fates
	for seq := int64(1); seq <= fatesKept+1; seq++ {
		f.Sent(Call{Seq: seq, At: float64(seq)})
		f.Refused(seq)
	}
	f.Refused(1) // its place is another's
	_, known := f.Passed(0, fatesKept+1, 1e9)
	assert.False(t, known)
	passed, known := f.Passed(1, fatesKept+2, 1e9)
	assert.True(t, known)
	assert.False(t, passed)
}
