package proxy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/clock"
)

// What the upstream still sends after the call was stopped takes no memory: nothing would give it back.
func TestAStoppedCallTakesNoMemory(t *testing.T) {
	var (
		m memory
		j joins
	)
	c := clock.New(nil)
	j.init(&c, &m)
	s, client, _ := j.share(joinKey{})
	require.NotNil(t, s)
	s.cancel = func(error) {}
	_, err := s.Write([]byte("kept"))
	require.NoError(t, err)
	assert.EqualValues(t, 4, m.used.Load())
	j.close()
	s.leave(client, false)
	assert.Zero(t, m.used.Load())
	_, err = s.Write([]byte("late"))
	assert.ErrorIs(t, err, errLeft)
	assert.Zero(t, m.used.Load())
}
