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
		a := replay.Keep(s, -1)
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
	a := replay.Keep(s, -1)
	assert.Equal(t, "abc", string(a.Head()))
	assert.ErrorIs(t, a.Err(), failure)
	assert.Equal(t, int32(1), s.closes.Load())
	got, err := io.ReadAll(a)
	assert.ErrorIs(t, err, failure, "as it came")
	assert.Equal(t, "abc", string(got))
}

// However it comes and whatever it says of its length, it reads as if nothing had been read of it.
func TestAnswerReadsAsItCame(t *testing.T) {
	long := strings.Repeat("x", replay.MaxAnswer+10)
	until := func(enough string) func(io.ReadCloser) *replay.Answer {
		return func(body io.ReadCloser) *replay.Answer {
			seen := ""
			return replay.KeepUntil(body, func(fresh []byte) bool {
				seen += string(fresh)
				return strings.Contains(seen, enough)
			})
		}
	}
	length := func(n int64) func(io.ReadCloser) *replay.Answer {
		return func(body io.ReadCloser) *replay.Answer { return replay.Keep(body, n) }
	}
	for name, c := range map[string]struct {
		text  string
		how   func(io.ReadCloser) *replay.Answer
		whole bool
	}{
		"empty":              {"", length(-1), true},
		"empty, as it says":  {"", length(0), true},
		"short":              {"abc", length(3), true},
		"of unknown length":  {"abc", length(-1), true},
		"longer than said":   {"abcdef", length(1), true},
		"shorter than said":  {"abc", length(10), true},
		"as long as is kept": {long[:replay.MaxAnswer], length(-1), false},
		"longer than that":   {long, length(int64(len(long))), false},
		"until the end":      {"abc", until("c"), false},
		"until the middle":   {"abc", until("b"), false},
		"until never":        {"abc", until("d"), true},
		"until too late":     {long + "d", until("d"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
				s := &source{Reader: by(strings.NewReader(c.text))}
				a := c.how(s)
				assert.NoError(t, iotest.TestReader(a, []byte(c.text)))
				assert.NoError(t, a.Close())
				assert.Equal(t, int32(1), s.closes.Load())
			}
			a := c.how(from(c.text))
			assert.Equal(t, c.whole, a.Whole())
		})
	}
}
