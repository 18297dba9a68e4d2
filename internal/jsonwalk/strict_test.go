package jsonwalk_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// asJSON asserts that text is what encoding/json takes it for.
func asJSON(t assert.TestingT, text []byte) {
	before := bytes.Clone(text)
	assert.Equal(t, json.Valid(text), jsonwalk.Valid(text), "%q", text)
	var want bytes.Buffer
	line := jsonwalk.Compact(text)
	if json.Compact(&want, text) != nil {
		assert.Nil(t, line, "%q", text)
	} else {
		assert.Equal(t, want.String(), string(line), "%q", text)
	}
	assert.Equal(t, before, text, "it is not changed")
}

var strictTexts = []string{
	"", " ", "{}", " {} ", "[]", "[ ]", "{ }", "[1]", "[1,]", "[,1]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" : 1 , "b":[ 1 , 2 ]}`, `{1:2}`,
	`{"a":1"b":2}`, "[1 2]", "[1]]", "{}{}", "[}", "{]", `{"a":1]`, `[1}`, "[[[", `"`, `"a`, `"\"`, `"\""`, `"\\"`, `"\x"`, `"\u12"`, `"\u12G4"`,
	`"\u12aF"`, `"\u123@"`, "\"\x1f\"", "\"\x7f\"", "\"\xff\"", "\"a\tb\"", `"12345678"`, `"1234567\"9"`, `"12345678\"`, "\"1234567\n\"",
	"0", "00", "-", "-0", "01", "1.", "1.5", ".5", "1e", "1e+", "1e+5", "1E-05", "-1.5e10x", "+1", "1-", "NaN", "true", "tru", "truex", "false", "null",
	"nul", "\xef\xbb\xbf{}", "\v1", "{\"\u2028\": \"\u00e4\"}", "[1\f]", "[\"a b\" , \" \\\" \" ]",
}

func TestStrictAsEncodingJSON(t *testing.T) {
	for _, text := range strictTexts {
		asJSON(t, []byte(text))
	}
	for _, depth := range []int{63, 64, 65, 9_999, 10_000, 10_001} {
		asJSON(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		asJSON(t, []byte(strings.Repeat(`{"a": `, depth)+"1"+strings.Repeat("}", depth)))
		asJSON(t, []byte(strings.Repeat(`[{"a":`, depth/2)+"1"+strings.Repeat("}]", depth/2)))
		asJSON(t, []byte(strings.Repeat(`[{"a":`, depth/2)+"1"+strings.Repeat("]}", depth/2)))
	}
}

// Texts of the pieces of JSON, in any order, and documents with a byte changed.
func TestStrictAsEncodingJSONProperty(t *testing.T) {
	pieces := append(slices.Clone(strictTexts), "{", "}", "[", "]", ",", ":", `"key":`, "\n", `"\ud83d\ude00"`, "1e5,")
	rapid.Check(t, func(t *rapid.T) {
		asJSON(t, []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")))
	})
	document := []byte(` {"a b" : [ 1.5e-7 , true,null ,"x\"y\u00e4 \\" ], "long": {"text":"0123456789 0123456789", "":{} , "l":[[ ] ,-0]}} `)
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Clone(document)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		asJSON(t, text[:rapid.IntRange(0, len(text)).Draw(t, "length")])
	})
}

func FuzzStrict(f *testing.F) {
	for _, text := range strictTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { asJSON(t, text) })
}

func BenchmarkCompact(b *testing.B) {
	chat := []byte(`{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"It feeds the wheel, and the wheel turns the stone."},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":31,"completion_tokens":5,"total_tokens":36}}`)
	long := []byte(`{"text":"` + strings.Repeat("It feeds the wheel. ", 1000) + `"}`)
	for name, text := range map[string][]byte{"chat": chat, "long": long} {
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var line bytes.Buffer
				line.Grow(len(text))
				_ = json.Compact(&line, text)
			}
		})
		b.Run(name+"/strict", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = jsonwalk.Compact(text)
			}
		})
	}
}
