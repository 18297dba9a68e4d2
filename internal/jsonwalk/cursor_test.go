package jsonwalk

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyJSON draws a value as encoding/json has it.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.String().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny())...)
}

// stringsIn counts the strings in a value, keys too, by encoding/json.
func stringsIn(v any) (n int) {
	switch v := v.(type) {
	case string:
		return 1
	case []any:
		for _, e := range v {
			n += stringsIn(e)
		}
	case map[string]any:
		for _, e := range v {
			n += 1 + stringsIn(e)
		}
	}
	return n
}

func (c *Cursor) count() (n int) {
	switch c.Peek() {
	case '{':
		for c.Open(); c.Next('}'); {
			c.Key()
			n += 1 + c.count()
		}
	case '[':
		for c.Open(); c.Next(']'); {
			n += c.count()
		}
	case '"':
		c.Text()
		n = 1
	default:
		c.Skip()
	}
	return n
}

func TestCursorSeesWhatTheDecoderSees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(4).Draw(t, "value")
		body, err := json.Marshal(v)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "indented") {
			body, _ = json.MarshalIndent(v, " ", "\t")
		}
		c := At(append(body, " rest"...))
		assert.Equal(t, stringsIn(v), c.count())
		assert.Equal(t, " rest", string(c.b[c.i:]), "it stands behind the value")
		c = At(append(body, " rest"...))
		c.Skip()
		assert.Equal(t, " rest", string(c.b[c.i:]), "so does skip")
	})
}

func TestCursorKnowsWhichQuoteEndsAString(t *testing.T) {
	for body, want := range map[string]int{
		`{"a":"\\","b":"c"}`: 4, `{"a":"\\\"","b":"c"}`: 4, `{"a\"":"\"b\"","c":"d"}`: 4, `["\\\\","\\"]`: 2,
	} {
		c := At([]byte(body))
		assert.Equal(t, want, c.count(), body)
	}
}

func TestCursorEnds(t *testing.T) {
	for _, body := range []string{
		"", "{", "[", "\"", "\"\\", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{:}", "[,]", "[,,1]", "[1,]",
		"]", "}", ":", ",", "{]", "[}", "{1:2}", "{\"a\" 1}", "[1 2]", "[[[[", "{\"a\":}", "\x00", "{\"a\":\x00}", "nul", "[\"a\"b]",
	} {
		c := At([]byte(body))
		c.count()
		c = At([]byte(body))
		c.Skip()
		assert.LessOrEqual(t, c.i, len(body), "%q", body)
	}
}

func TestTextOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":{"model":"x"},"model" : "m","model":"n"}`: "m", `{"model":5,"a":[1],"model":"m"}`: "m", `[{"model":"m"}]`: "", `{"model":"half`: "half", ``: "", `{"model"`: "",
	} {
		assert.Equal(t, want, string(TextOf([]byte(body), "model")), body)
	}
}
