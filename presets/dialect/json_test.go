package dialect

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/throttle"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

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

// strings counts the strings in a value, keys too, by encoding/json.
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

func (s *scanner) count() (n int) {
	switch s.peek() {
	case '{':
		for s.open('{'); s.next('}'); {
			s.key()
			n += 1 + s.count()
		}
	case '[':
		for s.open('['); s.next(']'); {
			n += s.count()
		}
	case '"':
		s.text()
		n = 1
	default:
		s.skip()
	}
	return n
}

func TestScannerSeesWhatTheDecoderSees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(4).Draw(t, "value")
		body, err := json.Marshal(v)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "indented") {
			body, _ = json.MarshalIndent(v, " ", "\t")
		}
		s := scanner{b: append(body, " rest"...)}
		assert.Equal(t, stringsIn(v), s.count())
		assert.Equal(t, " rest", string(s.b[s.i:]), "it stands behind the value")
		s = scanner{b: append(body, " rest"...)}
		s.skip()
		assert.Equal(t, " rest", string(s.b[s.i:]), "so does skip")
	})
}

func TestScannerKnowsWhichQuoteEndsAString(t *testing.T) {
	for body, want := range map[string]int{
		`{"a":"\\","b":"c"}`: 4, `{"a":"\\\"","b":"c"}`: 4, `{"a\"":"\"b\"","c":"d"}`: 4, `["\\\\","\\"]`: 2,
	} {
		s := scanner{b: []byte(body)}
		assert.Equal(t, want, s.count(), body)
	}
}

func TestScannerEnds(t *testing.T) {
	for _, body := range []string{
		"", "{", "[", "\"", "\"\\", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{:}", "[,]", "[,,1]", "[1,]",
		"]", "}", ":", ",", "{]", "[}", "{1:2}", "{\"a\" 1}", "[1 2]", "[[[[", "{\"a\":}", "\x00", "{\"a\":\x00}", "nul", "[\"a\"b]",
	} {
		s := scanner{b: []byte(body)}
		s.count()
		s = scanner{b: []byte(body)}
		s.skip()
		assert.LessOrEqual(t, s.i, len(body), "%q", body)
	}
}

func TestScannerAmount(t *testing.T) {
	for text, want := range map[string]int64{
		"7": 7, "7.9": 7, "1e3": 1000, "0": 0, "-5": 0, "1e400": throttle.MaxAmount, "1099511627777": throttle.MaxAmount, "-1e400": 0,
		"null": 0, "\"7\"": 0, "[7]": 0, "{}": 0, "": 0, "7up": 0, "-": 0,
	} {
		s := scanner{b: []byte(text + "]")}
		assert.Equal(t, want, s.amount(), text)
	}
}
