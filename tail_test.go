package headrace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// behind reads what follows the first cut bytes of text, n at a time.
func behind(text string, cut, n int) string {
	t := newTail()
	t.walker.Feed([]byte(text[:cut]))
	t.behind = true
	for rest := []byte(text[cut:]); len(rest) > 0; rest = rest[min(n, len(rest)):] {
		t.walker.Feed(rest[:min(n, len(rest))])
	}
	return string(t.out)
}

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 2*mostText)
	for _, c := range []struct{ head, rest, want string }{
		{`{"a":`, `1}`, `"a":1`},
		{`{"a":1`, `1,"model":"m"}`, `"model":"m"`},
		{`{"a":`, `[{"b":1}],"model" : "m", "n":2 } {"x":1}`, `"a":[],"model":"m","n":2`},
		{`{"a":"`, `,","model":"m"}`, `"model":"m"`},
		{`{"a":"\`, `",","model":"m"}`, `"model":"m"`},
		{`{"a":[{"model":"x"`, `,"model":"y"}],"model":"m"}`, `"model":"m"`},
		{`{"a":1,`, `"b":{"model":"x","c":[]},"model":"m"}`, `"b":{},"model":"m"`},
		{`{"a":1`, `,"b":{"model":"x","c":[]},"model":"m","c":["]",2]}`, `"b":{},"model":"m","c":[]`},
		{`{"a":1`, `,"b":"` + long + `","model":"m"}`, `"b":"` + long[:mostText-1] + `","model":"m"`},
		{`{"a":1`, `,"b":"\\\"` + long + `\\","model":"m"}`, `"b":"\\\"` + long[:mostText-5] + `","model":"m"`},
		{`{"a":1`, `,"model":"m","half":"x`, `"model":"m"`},
		{`{"a":1`, `,"model":"m"` + strings.Repeat(`,"b":"`+long[:mostText/2]+`"`, 64) + "}", ""},
		{`{"a":1}`, `,"model":"m"}`, ``},
	} {
		for _, n := range []int{1, 7, 1 << 20} {
			got := behind(c.head+c.rest, len(c.head), n)
			if c.want == "" && len(c.rest) > mostTail {
				assert.LessOrEqual(t, len(got), mostTail)
				assert.True(t, strings.HasPrefix(got, `"model":"m",`), "what has room")
				assert.True(t, json.Valid([]byte("{"+got+"}")))
				continue
			}
			assert.Equal(t, c.want, got, "%.40s | %.40s", c.head, c.rest)
		}
	}
}

// Wherever an object is cut, what is behind is members of it, and the two
// together are one object again as far as the head goes.
func TestTailIsOfTheObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a"\\{}\[\],: \n]{0,8}`)
		inner := rapid.MapOf(text, rapid.SliceOfN(text, 0, 3))
		whole := map[string]any{}
		for _, k := range rapid.SliceOfN(text, 0, 6).Draw(t, "keys") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				whole[k] = text.Draw(t, "text")
			case 1:
				whole[k] = rapid.Float64Range(-9, 9).Draw(t, "number")
			default:
				whole[k] = inner.Draw(t, "nested")
			}
		}
		b, err := json.Marshal(whole)
		require.NoError(t, err)
		cut := rapid.IntRange(1, len(b)).Draw(t, "cut")
		var has map[string]any
		got := behind(string(b), cut, rapid.IntRange(1, 9).Draw(t, "chunk"))
		require.NoError(t, json.Unmarshal([]byte("{"+got+"}"), &has), got)
		for k, v := range has {
			if _, nested := v.(map[string]any); nested {
				assert.Empty(t, v)
				continue
			}
			assert.Equal(t, whole[k], v)
		}
		head := bytes.NewBufferString(string(b[:cut]))
		joined := (&tail{out: []byte(got)}).join(head)
		want := string(b[:cut])
		if got != "" {
			want = "{" + got + "," + want[1:]
		}
		assert.Equal(t, want, string(joined))
	})
}
