package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEnded(t *testing.T) {
	e := newEnded(time.Hour)
	e.most = 3
	for i := range uint64(6) {
		assert.True(t, e.add(i, 0))
	}
	for i := range uint64(6) {
		assert.False(t, e.add(i, time.Hour-1), i)
	}
	assert.True(t, e.add(6, time.Hour-1))
	assert.True(t, e.add(0, time.Hour-1), "it is forgotten: more than 3 have ended since")
	assert.False(t, e.add(5, time.Hour-1))

	e = newEnded(time.Hour)
	assert.True(t, e.add(1, 0))
	assert.True(t, e.add(2, time.Hour-1))
	assert.True(t, e.add(3, time.Hour))
	assert.False(t, e.add(2, 2*time.Hour-1), "it has ended an hour ago")
}
