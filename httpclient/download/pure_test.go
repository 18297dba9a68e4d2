package download

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseContentRange(t *testing.T) {
	for text, want := range map[string]contentRange{
		"bytes 0-0/1":                   {0, 0, 1},
		"bytes 5-9/10":                  {5, 9, 10},
		"Bytes 5-7/10":                  {5, 7, 10},
		"bytes 5-10/10":                 {},
		"bytes 6-5/10":                  {},
		"bytes 5-9/*":                   {},
		"bytes */10":                    {},
		"bytes 5-9":                     {},
		"bytes 5/10":                    {},
		"bytes  5-9/10":                 {},
		"bytes +5-9/10":                 {},
		"bytes -5-9/10":                 {},
		"items 5-9/10":                  {},
		"bytes=5-9/10":                  {},
		"bytes 0-1_0/100":               {},
		"bytes 0-9/9223372036854775808": {},
		"":                              {},
	} {
		got, ok := parseContentRange([]string{text})
		assert.Equal(t, want != contentRange{}, ok, text)
		if ok {
			assert.Equal(t, want, got, text)
		}
	}
	_, ok := parseContentRange(nil)
	assert.False(t, ok)
	_, ok = parseContentRange([]string{"bytes 0-0/1", "bytes 0-0/1"})
	assert.False(t, ok, "two of them")
}

func TestValidatorOf(t *testing.T) {
	date := func(h int) string { return at(h).Format(http.TimeFormat) }
	minute := at(3).Add(minAge).Format(http.TimeFormat)
	almost := at(3).Add(minAge - 1e9).Format(http.TimeFormat)
	for name, tc := range map[string]struct {
		h    http.Header
		want string
	}{
		"strong":                 {header("ETag", `"a"`), `"a"`},
		"empty tag":              {header("ETag", `""`), `""`},
		"strong, and a date":     {header("ETag", `"a"`, "Last-Modified", date(1), "Date", date(3)), `"a"`},
		"weak":                   {header("ETag", `W/"a"`), ""},
		"weak, and a date":       {header("ETag", `W/"a"`, "Last-Modified", date(1), "Date", date(3)), ""},
		"no tag":                 {header("ETag", `a`), ""},
		"open":                   {header("ETag", `"a`), ""},
		"a quote":                {header("ETag", `"`), ""},
		"a quote inside":         {header("ETag", `"a"b"`), ""},
		"a space inside":         {header("ETag", `"a b"`), ""},
		"two":                    {header("ETag", `"a"`, "ETag", `"b"`), ""},
		"old":                    {header("Last-Modified", date(1), "Date", date(3)), date(1)},
		"just old enough":        {header("Last-Modified", date(3), "Date", minute), date(3)},
		"too young":              {header("Last-Modified", date(3), "Date", almost), ""},
		"from the future":        {header("Last-Modified", date(4), "Date", date(3)), ""},
		"no date to compare":     {header("Last-Modified", date(1)), ""},
		"no date at all":         {header("Last-Modified", "yesterday", "Date", date(3)), ""},
		"nothing":                {header(), ""},
		"the server does ranges": {header("ETag", `"a"`, "Accept-Ranges", "bytes"), `"a"`},
		"and this one does not":  {header("ETag", `"a"`, "Accept-Ranges", "None"), ""},
	} {
		assert.Equal(t, validator(tc.want), validatorOf(tc.h), name)
	}
}

func TestJudge(t *testing.T) {
	const date = "Fri, 02 Jan 2026 01:00:00 GMT"
	rest := ask{from: 4, validator: `"a"`, total: 10}
	dated := ask{from: 4, validator: date, total: 10}
	some := ask{from: 4, validator: `"a"`, total: -1}
	all := ask{total: -1}
	for name, tc := range map[string]struct {
		asked  ask
		status int
		length int64
		h      http.Header
		want   answer
		fails  bool
	}{
		"everything":                 {all, 200, 7, header("ETag", `"b"`), answer{takeAll, 7, 7, `"b"`}, false},
		"of unknown length":          {all, 200, -1, header(), answer{takeAll, -1, -1, ""}, false},
		"the server has other":       {rest, 200, 7, header("ETag", `"b"`), answer{takeAll, 7, 7, `"b"`}, false},
		"encoded":                    {all, 200, 7, header("Content-Encoding", "gzip"), answer{}, true},
		"encoded as identity":        {all, 200, 7, header("Content-Encoding", "identity"), answer{takeAll, 7, 7, ""}, false},
		"a range unasked":            {all, 206, 6, header("Content-Range", "bytes 4-9/10"), answer{}, true},
		"the rest":                   {rest, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`), answer{takeRest, 6, 10, `"a"`}, false},
		"a part of the rest":         {rest, 206, 2, header("Content-Range", "bytes 4-5/10", "ETag", `"a"`), answer{takeRest, 2, 10, `"a"`}, false},
		"the rest in chunks":         {rest, 206, -1, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`), answer{takeRest, 6, 10, `"a"`}, false},
		"now the total is known":     {some, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`), answer{takeRest, 6, 10, `"a"`}, false},
		"the rest, by date":          {dated, 206, 6, header("Content-Range", "bytes 4-9/10", "Last-Modified", date), answer{takeRest, 6, 10, date}, false},
		"no date":                    {dated, 206, 6, header("Content-Range", "bytes 4-9/10"), answer{}, false},
		"another date":               {dated, 206, 6, header("Content-Range", "bytes 4-9/10", "Last-Modified", "Fri, 02 Jan 2026 01:00:01 GMT"), answer{}, false},
		"no tag":                     {rest, 206, 6, header("Content-Range", "bytes 4-9/10"), answer{}, false},
		"another tag":                {rest, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `"b"`), answer{}, false},
		"the tag has become weak":    {rest, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `W/"a"`), answer{}, false},
		"from elsewhere":             {rest, 206, 5, header("Content-Range", "bytes 5-9/10", "ETag", `"a"`), answer{}, false},
		"from the beginning":         {rest, 206, 10, header("Content-Range", "bytes 0-9/10", "ETag", `"a"`), answer{}, false},
		"another total":              {rest, 206, 7, header("Content-Range", "bytes 4-10/11", "ETag", `"a"`), answer{}, false},
		"no total":                   {some, 206, 6, header("Content-Range", "bytes 4-9/*", "ETag", `"a"`), answer{}, false},
		"no range":                   {rest, 206, 6, header("ETag", `"a"`), answer{}, false},
		"a length that does not fit": {rest, 206, 5, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`), answer{}, false},
		"an encoded range":           {rest, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`, "Content-Encoding", "br"), answer{}, false},
		"several ranges":             {rest, 206, 6, header("Content-Range", "bytes 4-9/10", "ETag", `"a"`, "Content-Type", "Multipart/ByteRanges; boundary=x"), answer{}, false},
		"not satisfiable":            {rest, 416, 0, header("Content-Range", "bytes */4"), answer{}, false},
		"not satisfiable, unasked":   {all, 416, 0, header(), answer{}, true},
		"not found":                  {rest, 404, 0, header(), answer{}, true},
		"no content":                 {all, 204, 0, header(), answer{}, true},
		"a redirect":                 {all, 302, 0, header(), answer{}, true},
	} {
		got, err := judge(&http.Response{StatusCode: tc.status, ContentLength: tc.length, Header: tc.h, Body: http.NoBody}, tc.asked)
		assert.Equal(t, tc.want, got, name)
		assert.Equal(t, tc.fails, err != nil, "%s: %v", name, err)
	}
}

func TestStateComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := state{
			Format: format, Resource: rapid.String().Draw(t, "resource"), Validator: validator(rapid.StringMatching(`"[!#-~]*"`).Draw(t, "validator")),
			Kept: rapid.Int64Range(0, 1<<40).Draw(t, "kept"), Total: -1,
		}
		if rapid.Bool().Draw(t, "known") {
			want.Total = want.Kept + rapid.Int64Range(0, 10).Draw(t, "more")
		}
		line := want.encode()
		if got := decode(append(line, "left over of a longer one\n"...)); got != want {
			t.Fatalf("%+v; want %+v", got, want)
		}
		torn := append([]byte(nil), line...)
		i := rapid.IntRange(0, len(torn)-1).Draw(t, "at")
		torn[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if got := decode(torn); got != (state{}) {
			t.Fatalf("torn at %d: %+v", i, got)
		}
		if got := decode(line[:i]); got != (state{}) {
			t.Fatalf("cut at %d: %+v", i, got)
		}
	})
}

func TestDecodeRefusesWhatCannotBe(t *testing.T) {
	for _, s := range []state{{Kept: -1}, {Kept: 3, Total: 2}, {Total: -2}} {
		assert.Zero(t, decode(s.encode()), "%+v", s)
	}
	line := string(state{Kept: 1, Total: 2}.encode())
	assert.NotZero(t, decode([]byte(line)))
	assert.Contains(t, line, `"format":1`)
}

func TestStateHoldsNoURL(t *testing.T) {
	s := state{Resource: hashOf("https://h/p?sig=canary")}
	assert.NotContains(t, string(s.encode()), "canary")
	assert.Len(t, s.Resource, 64)
}

func TestParseChecksum(t *testing.T) {
	for text, ok := range map[string]bool{
		"sha256:" + strings.Repeat("0a", 32): true,
		"SHA256:" + strings.Repeat("0A", 32): true,
		"sha384:" + strings.Repeat("0a", 48): true,
		"sha512:" + strings.Repeat("0a", 64): true,
		"sha512:" + strings.Repeat("0a", 32): false,
		"sha256:" + strings.Repeat("0g", 32): false,
		"sha256:":                            false,
		"sha256":                             false,
		"md5:" + strings.Repeat("0a", 16):    false,
		strings.Repeat("0a", 32):             false,
		"":                                   false,
	} {
		sum, problem := parseChecksum(text, nil)
		assert.Equal(t, ok, problem == "", "%q: %s", text, problem)
		if ok {
			require.Len(t, sum.want, sum.new().Size(), text)
			assert.Equal(t, strings.ToLower(text), sum.text(sum.want))
		}
	}
}
