package throttle

import (
	"testing"
	"unsafe"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A key of many has one cache line of its own.
func TestALimiterIsOneCacheLine(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Limiter{}), uintptr(64))
}

// What limiters of the same window have in common is kept once, and goes to another limit with none of them.
func TestLimitersShareTheirOrigin(t *testing.T) {
	t.Cleanup(SetFast(func(clockwork.Clock, bool) bool { return true }))
	lim := Limits{Windows: []Window{Bucket(1e-3, 2)}}
	c := clockwork.NewFakeClock()
	var all [3]*Limiter
	for i := range all {
		var err error
		all[i], err = New(lim, WithClock(c))
		require.NoError(t, err)
	}
	require.Nil(t, all[0].state, "nothing of it was needed so far")
	require.NotZero(t, all[0].born)
	assert.Equal(t, all[0].born, all[2].born)
	for range 2 {
		assert.True(t, all[0].Allow(Cost{}))
	}
	assert.False(t, all[0].Allow(Cost{}))
	require.NoError(t, all[1].SetLimits(Limits{Windows: []Window{Bucket(1e-3, 1)}}))
	assert.True(t, all[1].Allow(Cost{}))
	assert.False(t, all[1].Allow(Cost{}))
	assert.Equal(t, lim, all[2].Limits())
	assert.True(t, all[2].Allow(Cost{}))
	assert.True(t, all[2].Allow(Cost{}))
	assert.False(t, all[2].Allow(Cost{}))
}
