package headrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The end of an object is where encoding/json sees it, however it is cut.
func TestOutline(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.String()), func(m map[string]string) any { return m }),
		rapid.Just[any](12.5), rapid.Just[any](nil),
	)
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(rapid.MapOf(rapid.String(), value).Draw(t, "object"))
		require.NoError(t, err)
		text = append([]byte(rapid.StringMatching(`[ \t\r\n]*`).Draw(t, "blank")), text...)
		var o outline
		for i, c := range text {
			if done := o.done([]byte{c}); done != (i == len(text)-1) {
				t.Fatalf("%q: done is %t after %d", text, done, i)
			}
		}
	})
}

func TestOutlineOfWhatIsNoObject(t *testing.T) {
	for _, text := range []string{"[", " [{", `"`, "12", "x", "}"} {
		var o outline
		assert.True(t, o.done([]byte(text)), text)
	}
	var o outline
	assert.False(t, o.done([]byte(" \n\t\r")))
	assert.False(t, o.done([]byte(`{"a":[{"}":"\"}"}`)))
	assert.True(t, o.done([]byte(`]}`)))
}

// A kept body reads as if nothing had been read of it.
func TestKept(t *testing.T) {
	long := strings.Repeat("x", mostAnswer+10)
	for name, c := range map[string]struct {
		text string
		how  func(io.ReadCloser) *kept
		rest bool
	}{
		"empty":              {"", func(b io.ReadCloser) *kept { return keep(b, -1) }, false},
		"short":              {"abc", func(b io.ReadCloser) *kept { return keep(b, 3) }, false},
		"of unknown length":  {"abc", func(b io.ReadCloser) *kept { return keep(b, -1) }, false},
		"longer than said":   {"abcdef", func(b io.ReadCloser) *kept { return keep(b, 1) }, false},
		"as long as is kept": {long[:mostAnswer], func(b io.ReadCloser) *kept { return keep(b, -1) }, true},
		"longer than that":   {long, func(b io.ReadCloser) *kept { return keep(b, int64(len(long))) }, true},
		"held":               {`{"a":1}`, func(b io.ReadCloser) *kept { k, _ := hold(b); return k }, true},
		"held, more":         {`{"a":1}{}`, func(b io.ReadCloser) *kept { k, _ := hold(b); return k }, true},
		"held, half":         {`{"a":1`, func(b io.ReadCloser) *kept { k, _ := hold(b); return k }, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
				from := &source{Reader: by(strings.NewReader(c.text))}
				k := c.how(from)
				assert.NoError(t, iotest.TestReader(k, []byte(c.text)))
				assert.NoError(t, k.Close())
				assert.True(t, from.closed)
			}
			k := c.how(io.NopCloser(strings.NewReader(c.text)))
			assert.Equal(t, c.rest, k.rest != nil)
		})
	}
	broken := errors.New("broken")
	k := keep(io.NopCloser(io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken))), 5)
	text, err := io.ReadAll(k)
	assert.Equal(t, "ab", string(text))
	assert.Equal(t, broken, err)
}

type source struct {
	io.Reader

	closed bool
}

func (s *source) Close() error { s.closed = true; return nil }

// An object that does not end is passed on.
func TestHeldBodiesAreBounded(t *testing.T) {
	k, whole := hold(io.NopCloser(io.MultiReader(strings.NewReader(`{"`), bytes.NewReader(make([]byte, 1<<20)))))
	assert.False(t, whole)
	assert.Len(t, k.head, mostAnswer)
}
