package jsonwalk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// recorder notes everything that a Walker reports, one line each.
type recorder struct {
	choose func(key []byte, first byte) jsonwalk.Choice
	lines  []string
}

func (r *recorder) Member(at *jsonwalk.Path, first byte) jsonwalk.Choice {
	c := r.choose(at.Last(), first)
	r.lines = append(r.lines, fmt.Sprintf("%s %c %d", path(at), first, c))
	return c
}

func (r *recorder) Value(at *jsonwalk.Path, value []byte, whole bool) {
	r.lines = append(r.lines, fmt.Sprintf("%s = %s %t", path(at), value, whole))
}

func path(at *jsonwalk.Path) string {
	keys := make([]string, at.Depth())
	for i := range keys {
		keys[i] = string(at.Key(i))
	}
	return strings.Join(keys, ".")
}

// byLength has some of everything.
func byLength(key []byte, first byte) jsonwalk.Choice {
	switch {
	case len(key)%3 == 0:
		return jsonwalk.Skip
	case first == '{' && len(key)%3 == 1:
		return jsonwalk.Enter
	}
	return jsonwalk.Keep
}

// walk feeds text in pieces of size bytes.
func walk(text []byte, size, most int, choose func([]byte, byte) jsonwalk.Choice) (*recorder, *jsonwalk.Walker) {
	r := &recorder{choose: choose}
	w := &jsonwalk.Walker{Visitor: r, Max: most}
	for len(text) > 0 {
		n := min(size, len(text))
		w.Feed(text[:n])
		text = text[n:]
	}
	return r, w
}

// expected is what encoding/json finds in the object in text.
func expected(t *testing.T, text []byte, outer []string, choose func([]byte, byte) jsonwalk.Choice) (lines []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		from := d.InputOffset()
		_, err := d.Token()
		require.NoError(t, err)
		key := bytes.TrimLeft(text[from:d.InputOffset()], " \t\r\n,{")
		key = key[1 : len(key)-1]
		var v json.RawMessage
		require.NoError(t, d.Decode(&v))
		if len(key) > jsonwalk.MaxKey {
			continue
		}
		at := append(slices.Clone(outer), string(key))
		c, p := choose(key, v[0]), strings.Join(at, ".")
		lines = append(lines, fmt.Sprintf("%s %c %d", p, v[0], c))
		switch {
		case c == jsonwalk.Enter && v[0] == '{' && len(at) < jsonwalk.MaxDepth:
			lines = append(lines, expected(t, v, at, choose)...)
		case c == jsonwalk.Keep:
			lines = append(lines, fmt.Sprintf("%s = %s true", p, v))
		}
	}
	return lines
}

// Whatever comes is survived, the size of the pieces makes no difference, and
// in an object that is valid exactly those members are found that encoding/json
// finds.
func FuzzWalker(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `[`, `{}`, `{"a":1}`, `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`, `{"ab":"\"}","é":"é\u00e9\\"}`, `[{"a":1},[{"a":2}],{"a":3}] {"a":4}`,
		`{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":}`, `{"a":]}`, "{\"a\":1}\n{\"b\":2}", `data: [DONE]`, `{"aa":[1,{"a":"]"}],"b":-1.5e9,"cccc":{"x":null}}`, `{"\u0061\"":{"a":"\\"}}`,
		`{"` + strings.Repeat("k", jsonwalk.MaxKey+1) + `":1,"a":true}`, "\ufeff{\"a\":1}", `{"a":"\ud83d\ude00"}`, `{"a":{"a":{"a":{"a":1}}},"a":2}`,
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole, w := walk(text, max(1, len(text)), 1<<20, byLength)
		pieces, v := walk(text, int(size)+1, 1<<20, byLength)
		require.Equal(t, whole.lines, pieces.lines)
		require.Equal(t, w.Ended(), v.Ended())
		require.Equal(t, w.Broken(), v.Broken())
		require.Equal(t, w.First(), v.First())
		if trimmed := bytes.TrimSpace(text); json.Valid(text) && trimmed[0] == '{' {
			require.Equal(t, expected(t, text, nil, byLength), whole.lines)
			require.Equal(t, 1, w.Ended())
			require.False(t, w.Broken())
		}
		cut, _ := walk(text, int(size)+1, 5, byLength)
		for _, line := range cut.lines {
			if _, value, ok := strings.Cut(line, ` = "`); ok && utf8.Valid(text) && strings.HasSuffix(value, " false") {
				value = `"` + strings.TrimSuffix(value, " false")
				if json.Valid(text) {
					require.True(t, json.Valid([]byte(value+`"`)), value)
				}
			}
		}
	})
}

func TestWalkerReportsMembersByPath(t *testing.T) {
	everything := func(_ []byte, first byte) jsonwalk.Choice {
		if first == '{' {
			return jsonwalk.Enter
		}
		return jsonwalk.Keep
	}
	const text = ` {"a" : {"b":[{"c":1}], "d":"x\"}"} , "e":12e3,"f":null,"g":{}} [{"h":null}]`
	for _, size := range []int{1, 2, 7, 100} {
		r, w := walk([]byte(text), size, 100, everything)
		assert.Equal(t, []string{
			"a { 1", "a.b [ 2", `a.b = [{"c":1}] true`, `a.d " 2`, `a.d = "x\"}" true`, "e 1 2", "e = 12e3 true", "f n 2", "f = null true",
			"g { 1", "h n 2", "h = null true",
		}, r.lines, size)
		assert.Equal(t, 2, w.Ended())
		assert.Equal(t, byte('{'), w.First())
	}
}

// A key inside a text, a list, a skipped object or at another depth is not the one.
func TestWalkerKnowsWhereAMemberIs(t *testing.T) {
	v := &byPath{}
	w := jsonwalk.Walker{Visitor: v, Max: 100}
	w.Feed([]byte(`{"a":"\"usage\":{1}","b":[{"usage":2}],"c":{"usage":3},"message":{"d":{"usage":4},"usage":5},"usage":6}`))
	assert.Equal(t, []string{"5", "6"}, v.found)
	w.Reset()
	w.Feed([]byte(`{"usage":7}`))
	assert.Equal(t, []string{"5", "6", "7"}, v.found)
}

type byPath struct{ found []string }

func (b *byPath) Member(at *jsonwalk.Path, _ byte) jsonwalk.Choice {
	switch {
	case at.Is("message"):
		return jsonwalk.Enter
	case at.Is("usage"), at.Is("message", "usage"):
		return jsonwalk.Keep
	}
	return jsonwalk.Skip
}

func (b *byPath) Value(_ *jsonwalk.Path, value []byte, _ bool) {
	b.found = append(b.found, string(value))
}

func TestAValueIsKeptUpToTheBound(t *testing.T) {
	keep := func([]byte, byte) jsonwalk.Choice { return jsonwalk.Keep }
	for text, want := range map[string]string{
		`"123456"`:       `"123456" true`,
		`"1234567"`:      `"1234567 false`,
		`"123456\n9"`:    `"123456 false`,
		`"123456\\9"`:    `"123456 false`,
		`"12345\\9"`:     `"12345\\ false`,
		`"12\u00e99"`:    `"12 false`,
		`"1\u00e99"`:     `"1\u00e9 false`,
		`"123456é"`:      `"123456 false`,
		`"1234é6é"`:      `"1234é6 false`,
		`{"a":"bcdefg"}`: `{"a":"bc false`,
	} {
		for _, size := range []int{1, 3, 100} {
			r, _ := walk([]byte(`{"k":`+text+`}`), size, 8, keep)
			require.Len(t, r.lines, 2)
			assert.Equal(t, "k = "+want, r.lines[1])
		}
	}
}

// What is fed costs no memory beyond the bound.
func TestWalkerAllocatesNothing(t *testing.T) {
	w := jsonwalk.Walker{Visitor: &silent{}, Max: 64}
	text := []byte(`{"data":[{"x":[1,2,3]}],"deep":{"a":{"b":1}},"usage":{"input_tokens":5},"more":"` + strings.Repeat("x", 1000) + `"}`)
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		w.Reset()
		w.Feed(text)
	}))
}

type silent struct{ n int }

func (s *silent) Member(_ *jsonwalk.Path, first byte) jsonwalk.Choice {
	if first == '{' {
		return jsonwalk.Enter
	}
	return jsonwalk.Keep
}

func (s *silent) Value(_ *jsonwalk.Path, value []byte, _ bool) { s.n += len(value) }
