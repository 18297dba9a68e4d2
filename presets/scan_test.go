package presets

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func value(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.SampledFrom([]string{`a"b\\`, "}{][,:", "\u00e9\u2028", ""}).AsAny(),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
}

// The scanner finds what encoding/json finds.
func TestMembersAreThoseOfTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.MapOfN(rapid.String(), value(3), 0, 5).Draw(t, "value")
		data, err := json.Marshal(whole)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "spaced") {
			data, err = json.MarshalIndent(whole, " ", "\t")
			require.NoError(t, err)
		}
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &want))
		check(t, string(data), want)
	})
}

func TestUnquote(t *testing.T) {
	for v, want := range map[string]string{`""`: "", `"a/b"`: "a/b", `"a\"b"`: `a"b`, "\"\xff\"": "\uFFFD"} {
		assert.Equal(t, want, unquote(v))
	}
}

func check(t *rapid.T, text string, want map[string]json.RawMessage) {
	got := map[string]json.RawMessage{}
	members(text, 0, func(key string, from, to int) { got[key] = json.RawMessage(text[from:to]) })
	require.Equal(t, len(want), len(got))
	for key, v := range want {
		require.Equal(t, string(v), string(got[key]))
		var list []json.RawMessage
		if json.Unmarshal(v, &list) == nil {
			i := 0
			members(string(v), 0, func(_ string, from, to int) {
				assert.Equal(t, string(list[i]), string(v[from:to]))
				i++
			})
			assert.Equal(t, len(list), i)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(v, &object) == nil && object != nil {
			check(t, string(v), object)
		}
	}
}
