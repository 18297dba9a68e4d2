package replay_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/replay"
)

func TestKeep(t *testing.T) {
	for _, tc := range []struct {
		length  int
		all     bool // it was read to its end
		release bool
	}{
		{0, true, false},
		{1, true, false},
		{replay.MaxAnswer - 1, true, false},
		{replay.MaxAnswer - 1, true, true},
		{replay.MaxAnswer, false, false},
		{replay.MaxAnswer + 1, false, false},
		{3 * replay.MaxAnswer, false, false},
		{3 * replay.MaxAnswer, false, true},
	} {
		text := strings.Repeat("x", tc.length)
		s := from(text)
		a := replay.Keep(s)
		assert.Equal(t, tc.all, s.closes.Load() == 1, "%+v", tc)
		assert.Equal(t, text[:min(tc.length, replay.MaxAnswer)], string(a.Head()))
		assert.NoError(t, a.Err())
		if tc.release {
			a.Release()
			a.Release()
			assert.Equal(t, int32(1), s.closes.Load(), "%+v", tc)
		}
		got, err := io.ReadAll(a)
		if tc.release && !tc.all {
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			text = text[:replay.MaxAnswer]
		} else {
			assert.NoError(t, err)
		}
		assert.Equal(t, text, string(got), "%+v", tc)
		require.NoError(t, a.Close())
		assert.Equal(t, int32(1), s.closes.Load(), "%+v", tc)
	}
}

func TestKeepBroken(t *testing.T) {
	failure := errors.New("reset")
	s := &source{Reader: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(failure))}
	a := replay.Keep(s)
	assert.Equal(t, "abc", string(a.Head()))
	assert.ErrorIs(t, a.Err(), failure)
	assert.Equal(t, int32(1), s.closes.Load())
	got, err := io.ReadAll(a)
	assert.ErrorIs(t, err, failure, "as it came")
	assert.Equal(t, "abc", string(got))
}
