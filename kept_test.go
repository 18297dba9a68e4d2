package headrace

import (
	"encoding/json"
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

// An object that does not end is passed on, and so is what follows one.
func TestHeldBodiesAreBounded(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"a":1}`: false, `{"a":1}{}`: false, `{"a":1`: true, "": true, "[": false,
		`{"` + strings.Repeat("x", 1<<20): false,
	} {
		k := hold(io.NopCloser(iotest.OneByteReader(strings.NewReader(text))))
		assert.Equal(t, whole, k.Whole(), text[:min(len(text), 10)])
		assert.LessOrEqual(t, len(k.Head()), mostAnswer)
		all, err := io.ReadAll(k)
		assert.NoError(t, err)
		assert.Equal(t, text, string(all))
	}
}
