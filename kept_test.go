package headrace

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
)

// An object is held back to its end, whatever stands in it; anything else is passed on.
func TestWhatIsHeldBack(t *testing.T) {
	for text, held := range map[string]int{
		"[": 1, " [{": 2, `"`: 1, "12": 1, "x": 1, "}": 1, " \n\t\r": 4, `{"a":[{"}":"\"}"}`: 17, `{"a":[{"}":"\"}"}]}{}`: 19, `{"a" x}`: 6,
	} {
		k := new(transport).hold(io.NopCloser(iotest.OneByteReader(strings.NewReader(text))))
		assert.Len(t, k.Head(), held, text)
	}
}

// An object that does not end is passed on, and so is what follows one.
func TestHeldBodiesAreBounded(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"a":1}`: false, `{"a":1}{}`: false, `{"a":1`: true, "": true, "[": false,
		`{"` + strings.Repeat("x", 1<<20): false,
	} {
		k := new(transport).hold(io.NopCloser(iotest.OneByteReader(strings.NewReader(text))))
		assert.Equal(t, whole, k.Whole(), text[:min(len(text), 10)])
		assert.LessOrEqual(t, len(k.Head()), mostAnswer)
		all, err := io.ReadAll(k)
		assert.NoError(t, err)
		assert.Equal(t, text, string(all))
	}
}
