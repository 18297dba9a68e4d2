package requests_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/presets/dialect"
)

// Repeated ids are found whatever part of them is in memory: the oracle is a map.
func TestRepeatedIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}), 0, 60).Draw(t, "ids")
		got, err := requests.Twice(ids, rapid.IntRange(1, 20).Draw(t, "most"))
		require.NoError(t, err)
		want, first := map[int64]int64{}, map[string]int64{}
		for i, id := range ids {
			if at, is := first[id]; is {
				want[int64(i+1)] = at
			} else {
				first[id] = int64(i + 1)
			}
		}
		require.Equal(t, want, got)
	})
}

// A file that is written again between the scan and the reading has other requests on the lines that were marked. They must
// not be recorded as repeated.
func TestLinesThatMoveAfterTheScan(t *testing.T) {
	t.Parallel()
	line := func(id string) string {
		return fmt.Sprintf(`{"custom_id":%q,"url":"/v1/chat/completions","body":{"model":"m"}}`+"\n", id)
	}
	read := func(text string) iter.Seq2[requests.Request, error] {
		return requests.Read(strings.NewReader(text), requests.OpenAI)
	}
	scan, err := requests.Of(t.Context(), read(line("a")+line("b")+line("a")), requests.OpenAI, dialect.OpenAI, nil)
	require.NoError(t, err)
	for _, text := range []string{line("new") + line("a") + line("b") + line("a"), line("a") + line("b") + "half a line\n" + line("a")} {
		var got []requests.Request
		err = nil
		for q, end := range scan.Mark(read(text)) {
			if err = end; err == nil {
				got = append(got, q)
			}
		}
		require.EqualError(t, err, "the requests end at line 3: the file was changed after it was checked, so other lines repeat a custom_id: run again")
		require.Len(t, got, 2)
		for _, q := range got {
			assert.Empty(t, q.Bad)
		}
	}
}

// The IDs of a long file are compared on disk, in a folder that may be full, or missing.
func TestNoFolderForTheComparison(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	many := func(yield func(requests.Request, error) bool) {
		for n := int64(1); yield(requests.Request{Line: n, ID: strconv.FormatInt(n, 10)}, nil); n++ {
		}
	}
	_, err := requests.Of(t.Context(), many, requests.OpenAI, dialect.OpenAI, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "set TMPDIR to another folder")
}

// However the requests are chosen, as many as Within says fit, and with one more of the longest they would not.
func TestWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1<<16+1, 1<<20), 0, 40).Draw(t, "lengths")
		memory := rapid.IntRange(0, 8<<20).Draw(t, "memory")
		most := rapid.IntRange(1, 50).Draw(t, "most")
		got := requests.Long(lengths).Within(memory, most)
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
		sum := func(n int) (all int) {
			for _, l := range lengths[:min(n, len(lengths))] {
				all += l
			}
			return all
		}
		require.True(t, got == 1 || sum(got) <= memory, "%d of %v", got, lengths)
		require.True(t, got == most || sum(got+1) > memory, "%d of %v", got, lengths)
		require.True(t, 1 <= got && got <= most)
	})
	many := make([]int, 100_000)
	for i := range many {
		many[i] = 100_000 + i
	}
	assert.Equal(t, 500, requests.Long(many).Within(500*200_000, 2000), "the longest are remembered, and not the first")
	assert.Equal(t, 2000+(1<<30-2000*500_000)/500_000, requests.Long(slices.Repeat([]int{500_000}, 10_000)).Within(1<<30, 8256), "more than are remembered")
	assert.Equal(t, 8256, requests.Long(slices.Repeat([]int{100_000}, 10_000)).Within(1<<30, 8256))
	assert.Equal(t, 7, (*requests.Scan)(nil).Within(1, 7), "nothing is known of standard input")
}

// drawn is a line of a file with what has to come of it.
type drawn struct {
	text string
	id   string // empty: it is bad
	skip bool
}

// other reports whether the line is not a JSON object.
func (l drawn) other() bool {
	if l.text == "" {
		return false
	}
	return l.text == "[]" || l.text[0] == 0 || strings.HasPrefix(l.text, "{") && !strings.HasPrefix(l.text, `{"`)
}

func drawLine(t *rapid.T) drawn {
	id := rapid.StringMatching(`[a-d]{1,2}`).Draw(t, "id")
	long := strings.Repeat("x", rapid.SampledFrom([]int{0, 3, 70_000}).Draw(t, "long"))
	return rapid.SampledFrom([]drawn{
		{text: `{"custom_id":"` + id + `","method":"POST","url":"/v1/x","body":{"n":"` + long + `"}}`, id: id},
		{text: `{"custom_id":"` + id + `","url":"/v1/x","body": {} }  ` + "\r", id: id},
		{text: "  \t\r", skip: true},
		{text: "", skip: true},
		{text: "{" + long},
		{text: `[]`},
		{text: `{"custom_id":7}`},
		{text: `{"custom_id":"","url":"/v1/x","body":{}}`},
		{text: `{"custom_id":"` + id + `","url":"v1/x","body":{}}`},
		{text: `{"custom_id":"` + id + `","url":"/v1/x","body":[]}`},
		{text: `{"custom_id":"` + id + `","url":"/v1/x","body":null}`},
		{text: "\x00\xff" + long},
	}).Draw(t, "line")
}

// Whatever a file holds: each line that is not empty comes once, with its number, good or bad, and the
// scan and the reading agree.
func TestReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(drawLine), 0, 12).Draw(t, "lines")
		texts := make([]string, 0, len(lines))
		for _, l := range lines {
			texts = append(texts, l.text)
		}
		text := strings.Join(texts, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		scan, err := requests.Of(context.Background(), requests.Read(strings.NewReader(text), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
		if slices.ContainsFunc(lines, drawn.other) && !slices.ContainsFunc(lines, func(l drawn) bool { return !l.skip && !l.other() }) {
			require.ErrorAs(t, err, new(*requests.FormatError))
			return
		}
		require.NoError(t, err)

		var got []requests.Request
		for q, err := range scan.Mark(requests.Read(iotest.HalfReader(strings.NewReader(text)), requests.OpenAI)) {
			require.NoError(t, err)
			got = append(got, q)
		}
		seen, i, bad := map[string]bool{}, 0, int64(0)
		keys := map[string]bool{}
		for n, l := range lines {
			if l.skip {
				continue
			}
			require.Greater(t, len(got), i)
			q := got[i]
			i++
			require.Equal(t, int64(n+1), q.Line)
			require.Equal(t, l.id == "" || seen[l.id], q.Bad != "", "%q: %s", l.text, q.Bad)
			if q.Bad != "" {
				bad++
			} else {
				require.Equal(t, l.id, q.ID)
				require.True(t, json.Valid([]byte(q.Body)))
				require.False(t, keys[q.Key()])
				keys[q.Key()] = true
			}
			seen[l.id] = true
		}
		require.Len(t, got, i)
		require.Equal(t, int64(i), scan.Lines)
		require.Equal(t, bad, scan.Bad)
		require.True(t, slices.IsSortedFunc(scan.Problems, func(a, b requests.Problem) int { return int(a.Line - b.Line) }))
	})
}

func TestABrokenFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader(`{"custom_id":"a","url":"/v1/x","body":{}}`+"\n{"), iotest.ErrReader(broken))
	n := 0
	for q, err := range requests.Read(r, requests.OpenAI) {
		if n++; n == 1 {
			require.NoError(t, err)
			assert.Equal(t, "a", q.ID)
			continue
		}
		var ended *requests.Error
		require.ErrorAs(t, err, &ended)
		require.ErrorIs(t, err, broken)
		assert.Equal(t, int64(2), ended.Line)
	}
	assert.Equal(t, 2, n)
}

func TestALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	text := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("x"), 64<<20+5)), strings.NewReader("\n"+`{"custom_id":"a","url":"/v1/x","body":{}}`))
	var got []string
	for q, err := range requests.Read(text, requests.OpenAI) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(q.Line, " ", q.Bad))
	}
	assert.Equal(t, []string{"1 it is longer than 64 MiB", "2 "}, got)
}

func TestTheScanTellsModelsAndTokens(t *testing.T) {
	t.Parallel()
	text := `{"custom_id":"a","url":"/v1/chat/completions","body":{"model":"m2","max_tokens":10,"messages":[{"role":"user","content":"12345678"}]}}
{"custom_id":"b","url":"/v1/chat/completions","body":{"model":"m1","messages":[]}}
{"custom_id":"c","url":"/v1/chat/completions","body":{"model":"m2","messages":[]}}`
	scan, err := requests.Of(t.Context(), requests.Read(strings.NewReader(text), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"m1", "m2"}, scan.Models)
	assert.Equal(t, int64(3), scan.Cost.Requests)
	assert.Positive(t, scan.Cost.Tokens)
	assert.Empty(t, scan.Problems)
}

// A hash tells bodies and URLs apart, and nothing else.
func TestHash(t *testing.T) {
	t.Parallel()
	a := requests.Request{Line: 1, ID: "a", URL: "/x", Body: "{}"}
	b := requests.Request{Line: 2, ID: "b", URL: "/x", Body: "{}"}
	assert.Equal(t, a.Hash(), b.Hash())
	assert.NotEqual(t, a.Key(), b.Key())
	b.Body = `{"a":1}`
	assert.NotEqual(t, a.Hash(), b.Hash())
}

// Messages are for the author of the file, and contain no terms of Go.
func TestWhatIsWrongWithALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"custom_id":7,"url":"/v1/x","body":{}}`:     "custom_id is a JSON number: it has to be a string",
		`{"custom_id":{},"url":"/v1/x","body":{}}`:    "custom_id is a JSON object: it has to be a string",
		`{"custom_id":"a","url":["/v1/x"],"body":{}}`: "url is a JSON array: it has to be a string",
		`["a"]`: "not a request: it is a JSON array, not an object",
		`7`:     "not a request: it is a JSON number, not an object",
		`{"custom_id":null,"url":"/v1/x","body":{}}`:                     "custom_id is missing: it identifies the result",
		`{"custom_id":"` + strings.Repeat("é", 257) + `","url":"/v1/x"}`: "custom_id has 514 bytes: the maximum is 512",
		`{"custom_id":"a\u0000","url":"/v1/x","body":{}}`:                "custom_id holds a NUL",
		`{"custom_id":"a","method":"GET","url":"/v1/x","body":{}}`:       `method is "GET": only POST can be sent`,
		`{"custom_id":"a","url":"/v1/x","body":{}} {}`:                   "not a request: invalid character '{' after top-level value, at byte 43",
	} {
		for q, err := range requests.Read(strings.NewReader(line), requests.OpenAI) {
			require.NoError(t, err)
			assert.Equal(t, want, q.Bad)
		}
	}
}

// A file of another format is one mistake, too. The remedy is that for its first line.
func TestAFileOfAnotherFormat(t *testing.T) {
	t.Parallel()
	const (
		single  = "its only line is not a JSON object (line 1: "
		several = "none of its first 2 lines is a JSON object (line "
		lines   = ": write one JSON object per line"
		array   = lines + `; jq -c ".[]" converts an array`
		pretty  = lines + "; jq -c . converts objects of several lines"
		correct = ": correct the JSON: each line has to be an object"
		large   = 64<<20 + 5
	)
	object := `{"custom_id":"a","url":"/v1/x","body":{}}`
	for text, want := range map[string]string{
		"[" + object + "]":                      single + "not a request: it is a JSON array, not an object)" + array,
		"\n[" + object + ",\n" + object + "]\n": several + "2: not a request: unexpected end of JSON input)" + array + " of several lines",
		"[" + object + ",":                      single + "not a request: unexpected end of JSON input)" + correct,
		"{\n\"custom_id\":\"a\"\n}":             "none of its first 3 lines is a JSON object (line 1: not a request: unexpected end of JSON input)" + pretty,
		"a,b\n1,2\n":                            several + "1: not a request: invalid character 'a' looking for beginning of value, at byte 1)" + lines,
		`{"custom_id":"a",}`:                    single + "not a request: invalid character '}' looking for beginning of object key string, at byte 18)" + correct,
		`{"custom_id":"a"`:                      single + "not a request: unexpected end of JSON input)" + correct,
		"{'a': 1}\n{'a': 2}\n":                  several + `1: not a request: invalid character '\'' looking for beginning of object key string, at byte 2)` + correct,
		object + object:                         single + "not a request: invalid character '{' after top-level value, at byte 42)" + lines + "; jq -c . separates them",
		object + ",\n" + object + ",\n":         several + "1: not a request: invalid character ',' after top-level value, at byte 42)" + lines + ", without a comma after it",
		object + " #1\n":                        single + "not a request: invalid character '#' after top-level value, at byte 43)" + lines,
		"[INFO] started\n[INFO] ended\n":        several + "1: not a request: invalid character 'I' looking for beginning of value, at byte 2)" + lines,
		"[1] a\n[2] b\n":                        several + "1: not a request: invalid character 'a' after top-level value, at byte 5)" + lines,
		"{\"caf\xe9\":1}\n{\"caf\xe9\":2}":      several + "1: the line is not UTF-8 from byte 6 on: save the file as UTF-8)" + lines,
		"[" + strings.Repeat(" ", large):        single + "it is longer than 64 MiB)" + array,
		"{" + strings.Repeat(" ", large):        single + "it is longer than 64 MiB)" + lines,
		strings.Repeat("7\n", 20) + object:      "none of its first 20 lines is a JSON object (line 1: not a request: it is a JSON number, not an object)" + lines,
		strings.Repeat("7\n", 19) + object:      "",
		"{\"caf\xe9\":1}\n" + object:            "",
		`{"custom_id":"a"}`:                     "",
		"":                                      "",
	} {
		_, err := requests.Of(t.Context(), requests.Read(strings.NewReader(text), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.EqualError(t, err, want, text[:min(len(text), 100)])
	}
}

// So is a file for the other --format.
func TestAFileForAnotherFormat(t *testing.T) {
	t.Parallel()
	openai, anthropic := `{"custom_id":"a","url":"/v1/x","body":{}}`+"\n", `{"custom_id":"b","params":{}}`+"\n"
	for _, c := range []struct {
		text   string
		format requests.Format
		want   string
	}{
		{anthropic, requests.OpenAI, "its only line is not in the format openai (line 1: it has params but no body): use --format anthropic"},
		{"\n" + openai + openai, requests.Anthropic, "none of its first 2 lines is in the format anthropic (line 2: it has body but no params): use --format openai"},
		{strings.Repeat(anthropic, 20) + openai, requests.OpenAI, "none of its first 20 lines is in the format openai (line 1: it has params but no body): use --format anthropic"},
		{strings.Repeat(anthropic, 19) + openai, requests.OpenAI, ""},
		{openai + strings.Repeat(anthropic, 30), requests.OpenAI, ""},
		{anthropic + "{}\n", requests.OpenAI, ""},
		{anthropic + "7\n", requests.OpenAI, ""},
		{openai, requests.OpenAI, ""},
		{anthropic, requests.Anthropic, ""},
	} {
		_, err := requests.Of(t.Context(), requests.Read(strings.NewReader(c.text), c.format), c.format, dialect.OpenAI, nil)
		if c.want == "" {
			assert.NoError(t, err, c.text)
			continue
		}
		assert.EqualError(t, err, c.want)
	}
}

// So is a file of prompts, which has nothing of a request.
func TestAFileOfPrompts(t *testing.T) {
	t.Parallel()
	const prompt, request, missing = `{"prompt":"x","id":1}` + "\n", `{"custom_id":"a","url":"/v1/x","body":{}}` + "\n", "custom_id is missing: it identifies the result"
	scan := func(text string, f requests.Format) error {
		_, err := requests.Of(t.Context(), requests.Read(strings.NewReader(text), f), f, dialect.OpenAI, nil)
		return err
	}
	for _, f := range []requests.Format{requests.OpenAI, requests.Anthropic} {
		err := scan(strings.Repeat(prompt, 30), f)
		require.ErrorContains(t, err, "none of its first 20 lines is a request (line 1: "+missing+"): write lines such as {")
		example := err.Error()[strings.LastIndex(err.Error(), "such as ")+len("such as "):]
		example = example[:strings.LastIndex(example, " (")]
		for q, err := range requests.Read(strings.NewReader(example), f) {
			require.NoError(t, err)
			assert.Empty(t, q.Bad, example)
		}
	}
	require.ErrorContains(t, scan("{}", requests.OpenAI), "its only line is not a request (line 1: "+missing)
	require.NoError(t, scan(strings.Repeat(prompt, 19)+request, requests.OpenAI))
	require.NoError(t, scan(strings.ReplaceAll(request, "custom_id", "id"), requests.OpenAI))
}

// Files that were joined keep the byte order marks at their beginnings.
func TestAMarkAtTheBeginningOfALine(t *testing.T) {
	t.Parallel()
	const mark, object = "\xef\xbb\xbf", `{"custom_id":"a","url":"/v1/x","body":{}}`
	n := 0
	for q, err := range requests.Read(strings.NewReader(mark+object+"\r\n"+mark+object+"\n"+mark+"\n"), requests.OpenAI) {
		n++
		require.NoError(t, err)
		assert.Empty(t, q.Bad)
		assert.Equal(t, "a", q.ID)
	}
	assert.Equal(t, 2, n)
}

// Only requests for text have an output that max_tokens bounds.
func TestTheScanCountsOpenOutput(t *testing.T) {
	t.Parallel()
	for url, open := range map[string]bool{
		"/v1/chat/completions": true, "/v1/completions/": true, "/v1/responses": true, "/v1/messages": true, "/v2/chat": true, "/api/generate": true,
		"/openai/deployments/d/chat/completions?api-version=1": true, "/v1beta/models/gemini:generateContent": true,
		"/v1/moderations": false, "/v1/embeddings": false, "/v2/embed": false, "/v1/rerank": false, "/v1/images/generations": false,
		"/v1/audio/speech": false, "/v1/messages/count_tokens": false, "/v1/videos": false,
	} {
		line := `{"custom_id":"a","url":"` + url + `","body":{"model":"m","input":"Hi there.","prompt":"A cat."}}`
		scan, err := requests.Of(t.Context(), requests.Read(strings.NewReader(line), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
		require.NoError(t, err)
		assert.Equal(t, open, scan.Open == 1, url)
		line = strings.Replace(line, `"model"`, `"max_tokens":9,"model"`, 1)
		scan, err = requests.Of(t.Context(), requests.Read(strings.NewReader(line), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
		require.NoError(t, err)
		assert.Zero(t, scan.Open, url)
	}
}

func TestUTF16(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff\xfe{\x00}\x00\n\x00{\x00", "\xfe\xff\x00{\x00}\x00\n\x00{", "{\x00}\x00\n\x00", "\x00{\x00}\x00\n"} {
		n := 0
		for _, err := range requests.Read(strings.NewReader(text), requests.OpenAI) {
			n++
			require.EqualError(t, err, "the requests end at line 1: they are UTF-16, as PowerShell writes it: save them as UTF-8")
		}
		assert.Equal(t, 1, n)
	}
}

// A line that is nested too deeply is an object, so it says nothing about the format of the file.
func TestDeepLines(t *testing.T) {
	t.Parallel()
	for deep, want := range map[int]string{9_000: "", 20_000: "not a request: it is nested more than 10000 levels deep, which is the maximum"} {
		line := `{"custom_id":"a","url":"/v1/x","body":{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}}`
		scan, err := requests.Of(t.Context(), requests.Read(strings.NewReader(line), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
		require.NoError(t, err)
		assert.EqualValues(t, 1, scan.Lines)
		if want == "" {
			assert.Empty(t, scan.Problems)
		} else {
			assert.Equal(t, []requests.Problem{{Line: 1, Text: want}}, scan.Problems)
		}
	}
	line := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	_, err := requests.Of(t.Context(), requests.Read(strings.NewReader(line), requests.OpenAI), requests.OpenAI, dialect.OpenAI, nil)
	require.ErrorContains(t, err, "its only line is not a JSON object (line 1: not a request: it is nested more than 10000 levels deep, which is the maximum): ")
}

// A packed file under another name is one mistake, and not one for each of its lines.
func TestAPackedFile(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(bytes.Repeat([]byte(`{"custom_id":"a","url":"/v1/x","body":{}}`+"\n"), 100))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	packed.WriteString("\n\n{}\n")
	n := 0
	for _, err := range requests.Read(&packed, requests.OpenAI) {
		n++
		require.EqualError(t, err, "the requests end at line 1: they are compressed with gzip: use a file name that ends in .gz, or decompress standard input with zcat")
	}
	assert.Equal(t, 1, n)
}

// A file that was not copied completely is not one with a bad line at its end.
func TestAPackedFileThatIsIncomplete(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 1000 {
		_, err := fmt.Fprintf(w, `{"custom_id":"%d","url":"/v1/x","body":{"n":%d}}`+"\n", i, i*i)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	whole := packed.Bytes()
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	for want, data := range map[string][]byte{
		"the compressed data is incomplete (unexpected EOF): copy or compress the file again":      whole[:len(whole)/2],
		"the compressed data is damaged (gzip: invalid checksum): copy or compress the file again": damaged,
		"the compressed data is damaged (gzip: invalid header): copy or compress the file again":   append(bytes.Clone(whole), "more than a header"...),
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl.gz")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		in, err := requests.Open(path, nil)
		require.NoError(t, err)
		var last error
		for _, err := range requests.Read(in, requests.OpenAI) {
			last = err
		}
		require.ErrorContains(t, last, want)
		_ = in.Close() // it repeats the error
	}
}

// many is n members more.
func many(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `,"n%d":%d`, i, i)
	}
	return text.String()
}

// Names are exact, and IDs that would be equal after decoding are rejected: a result must not be filed under the ID of
// another request. RFC 8259 requires UTF-8 (section 8.1) and leaves half surrogates to the reader (section 8.2).
func TestACustomIDIsTakenAsItIsOrRefused(t *testing.T) {
	t.Parallel()
	read := func(line string, f requests.Format) requests.Request {
		t.Helper()
		for q, err := range requests.Read(strings.NewReader(line), f) {
			require.NoError(t, err)
			return q
		}
		t.Fatal("no line")
		return requests.Request{}
	}
	for line, want := range map[string]string{
		`{"Custom_ID":"a","url":"/v1/x","body":{}}`:                         `"Custom_ID" must be spelled custom_id`,
		`{"custom_id":"a","CUSTOM_ID":"b","url":"/v1/x","body":{}}`:         `"CUSTOM_ID" must be spelled custom_id`,
		`{"custom_id":"a","custom_id":"b","url":"/v1/x","body":{}}`:         "the line has two members of the same name: remove one",
		`{"custom_id":"a","custom_\u0069d":"b","url":"/v1/x","body":{}}`:    "the line has two members of the same name: remove one",
		`{"custom_id":"a","url":"/v1/x","body":{}` + many(40) + `,"n7":0}`:  "the line has two members of the same name: remove one",
		`{"custom_id":"a","url":"/v1/x","body":{},"\u0055rl":"b"}`:          `"Url" must be spelled url`,
		`{"custom_id":"a","Url":"/v1/x","body":{}}`:                         `"Url" must be spelled url`,
		`{"custom_id":"a","url":"/v1/x","Body":{}}`:                         `"Body" must be spelled body`,
		`{"custom_id":"a","Method":"GET","url":"/v1/x","body":{}}`:          `"Method" must be spelled method`,
		"{\"custom_id\":\"a\xff\",\"url\":\"/v1/x\",\"body\":{}}":           "the line is not UTF-8 from byte 16 on: save the file as UTF-8",
		"{\"custom_id\":\"a\",\"url\":\"/v1/x\",\"body\":{\"n\":\"\xc3\"}}": "the line is not UTF-8 from byte 45 on: save the file as UTF-8",
		`{"custom_id":"a\ud800","url":"/v1/x","body":{}}`:                   "custom_id has half of a surrogate pair, which is not a character: replace it",
		`{"custom_id":"\udc00\ud800","url":"/v1/x","body":{}}`:              "custom_id has half of a surrogate pair, which is not a character: replace it",
		`{"custom_id":"a","url":"/v1/\ud83dx","body":{}}`:                   "url has half of a surrogate pair, which is not a character: replace it",
	} {
		assert.Equal(t, want, read(line, requests.OpenAI).Bad, line)
	}
	assert.Equal(t, "params is missing, but body is there: use --format openai", read(`{"custom_id":"a","url":"/v1/x","body":{}}`, requests.Anthropic).Bad)
	assert.Equal(t, `"Params" must be spelled params`, read(`{"custom_id":"a","Params":{}}`, requests.Anthropic).Bad)
	for line, want := range map[string]string{
		`{"custom_id":"a","url":"/v1/x","body":{"stream":true,"model":5,"stream":false}` + many(40) + `}`: "a",
		`{"custom_id":"\ufffd","url":"/v1/x","body":{"Stream":true}}`:                                     "\ufffd",
		"{\"custom_id\":\"\ufffd\\\\ud800\",\"url\":\"/v1/x\",\"body\":{}}":                               "\ufffd\\ud800",
		`{"custom_id":"\ud83d\ude00 \u00e9\n","url":"/v1/x","body":{"Model":"m"}}`:                        "😀 é\n",
	} {
		q := read(line, requests.OpenAI)
		assert.Empty(t, q.Bad, line)
		assert.Equal(t, want, q.ID)
		assert.Empty(t, q.Model())
	}
}

// A path that a server resolves to another place than the one below --base-url is not sent, however it is written.
// RFC 3986, section 5.2.4, has dot segments removed.
func TestAPathDoesNotClimbOutOfTheBaseURL(t *testing.T) {
	t.Parallel()
	bad := func(url string) string {
		t.Helper()
		text, err := json.Marshal(map[string]any{"custom_id": "a", "url": url, "body": map[string]int{}})
		require.NoError(t, err)
		for q, err := range requests.Read(bytes.NewReader(text), requests.OpenAI) {
			require.NoError(t, err)
			return q.Bad
		}
		return "no line"
	}
	for _, url := range []string{
		"/v1/../../admin", "/..", "/./x", "/v1/x/..", "/v1/%2e%2e/admin", "/v1/%2E%2E%2fadmin", "/v1/.%2e/admin", "/v1/%252e%252e/admin",
		`/v1\..\admin`, "/v1/..%5cadmin", "/v1/..;a=b/admin", "/../x?y=/z", "https://h/v1/../admin", "https://h/v1/%2e%2e/admin", "/v1#/../admin",
	} {
		assert.Contains(t, bad(url), "could lead out of --base-url: remove . and ..", url)
	}
	for _, url := range []string{"/v1/chat.completions", "/v1/...", "/v1/..a", "/v1/x?file=../y", "/v1/a%20b", "/v1/100%", "https://h/v1/x"} {
		assert.Empty(t, bad(url), url)
	}
}
