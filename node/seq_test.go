package node_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
)

type record struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// read is what a sequence gives: its values, and the errors by position.
func read[In any](seq iter.Seq2[In, error]) (values []In, problems map[int]error) {
	problems = map[int]error{}
	for in, err := range seq {
		if err != nil {
			problems[len(values)] = err
		}
		values = append(values, in)
	}
	return values, problems
}

func TestSliceAndSeq(t *testing.T) {
	values, problems := read(node.Slice(numbers(4)))
	assert.Equal(t, numbers(4), values)
	assert.Empty(t, problems)
	values, problems = read(node.Seq(slices.Values(numbers(4))))
	assert.Equal(t, numbers(4), values)
	assert.Empty(t, problems)
	for _, seq := range []iter.Seq2[int, error]{node.Slice(numbers(4)), node.Seq(slices.Values(numbers(4)))} {
		for range 2 { // they can be read again
			for i, err := range seq {
				require.NoError(t, err)
				if i == 1 {
					break
				}
			}
		}
	}
	values, _ = read(node.Slice[int](nil))
	assert.Empty(t, values)
}

func TestJSONL(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []record
	}{
		"lines":                 {"{\"id\":1}\n{\"id\":2}\n", []record{{ID: 1}, {ID: 2}}},
		"no newline at the end": {"{\"id\":1}\n{\"id\":2}", []record{{ID: 1}, {ID: 2}}},
		"CRLF":                  {"{\"id\":1}\r\n{\"id\":2}\r\n", []record{{ID: 1}, {ID: 2}}},
		"empty lines":           {"\n{\"id\":1}\n\n \t\r\n{\"id\":2}\n\n", []record{{ID: 1}, {ID: 2}}},
		"byte order marks":      {"\ufeff{\"id\":1}\n\ufeff{\"id\":2}\n\ufeff\n", []record{{ID: 1}, {ID: 2}}},
		"space around":          {"  {\"id\":1}\t\n", []record{{ID: 1}}},
		"nothing":               {"", nil},
		"only empty lines":      {"\n\n\r\n", nil},
		"text of any kind":      {"{\"id\":1,\"text\":\"ä\\n\u2028😀\"}\n", []record{{ID: 1, Text: "ä\n\u2028😀"}}},
	} {
		for kind, r := range map[string]io.Reader{
			"at once":   strings.NewReader(tc.text),
			"one byte":  iotest.OneByteReader(strings.NewReader(tc.text)),
			"early EOF": iotest.DataErrReader(strings.NewReader(tc.text)),
		} {
			values, problems := read(node.JSONL[record](r))
			assert.Equal(t, tc.want, values, "%s, %s", name, kind)
			assert.Empty(t, problems, "%s, %s", name, kind)
		}
	}
}

func TestJSONLOfLongLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	text := "{\"id\":1,\"text\":\"" + long + "\"}\n{\"id\":2}\n{\"id\":3,\"text\":\"" + long + "\"}"
	values, problems := read(node.JSONL[record](strings.NewReader(text)))
	require.Empty(t, problems)
	assert.Equal(t, []record{{ID: 1, Text: long}, {ID: 2}, {ID: 3, Text: long}}, values)
}

func TestJSONLWithABadLine(t *testing.T) {
	text := "{\"id\":1}\n\nnot json\n{\"id\":\"two\"}\n{\"id\":5} {\"id\":6}\n{\"id\":6}\n{\"id\":"
	values, problems := read(node.JSONL[record](strings.NewReader(text)))
	require.Len(t, values, 6)
	assert.Equal(t, record{ID: 1}, values[0])
	assert.Equal(t, record{ID: 6}, values[4], "what follows is read")
	lines := map[int]int64{}
	for at, err := range problems {
		var bad *node.InputError
		require.ErrorAs(t, err, &bad)
		lines[at] = bad.Line
		assert.Error(t, bad.Unwrap())
	}
	assert.Equal(t, map[int]int64{1: 3, 2: 4, 3: 5, 5: 7}, lines)
	assert.EqualError(t, problems[1], "node: input line 3: invalid character 'o' in literal null (expecting 'u')")
}

func TestJSONLOfAReaderThatFails(t *testing.T) {
	r := io.MultiReader(strings.NewReader("{\"id\":1}\n{\"id\":2}"), iotest.ErrReader(errBoom))
	values, problems := read(node.JSONL[record](r))
	assert.Equal(t, []record{{ID: 1}, {}}, values, "the line that was cut off is not an item")
	var bad *node.InputError
	require.ErrorAs(t, problems[1], &bad)
	assert.Equal(t, int64(2), bad.Line)
	require.ErrorIs(t, bad, errBoom)
}

func TestJSONLCanBeLeft(t *testing.T) {
	for in, err := range node.JSONL[record](strings.NewReader("{\"id\":1}\nbad\n{\"id\":3}\n")) {
		if err != nil {
			break
		}
		assert.Equal(t, 1, in.ID)
	}
}

// A bad line is one failed item of a run, and a reader that fails is one more.
func TestJSONLFeedsABatch(t *testing.T) {
	m := node.Map("m", same).WithParallel(3)
	r := io.MultiReader(strings.NewReader("1\n2\nx\n4\n"), iotest.ErrReader(errBoom))
	var got []string
	for res, err := range m.Stream(t.Context(), node.JSONL[int](r)) {
		require.NoError(t, err)
		text := res.State.String()
		if errors.Is(res.Err, errBoom) {
			text = "reader"
		}
		got = append(got, text)
	}
	assert.Equal(t, []string{"done", "done", "failed", "done", "reader"}, got)
}

// encoding/json would make the same item of different ones.
func TestALineThatIsNotUTF8IsABadLine(t *testing.T) {
	n := 0
	for in, err := range node.JSONL[string](strings.NewReader("\"a\"\n\"\xff\"\n\"\xfe\"\n\"b\"")) {
		n++
		if n == 1 || n == 4 {
			require.NoError(t, err)
			continue
		}
		var bad *node.InputError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, int64(n), bad.Line)
		assert.Empty(t, in)
		assert.EqualError(t, err, fmt.Sprintf("node: input line %d: the line is not UTF-8: save the file as UTF-8", n))
	}
	assert.Equal(t, 4, n)
}
