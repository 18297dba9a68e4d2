package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/node"
)

// Each line that is not empty is one item: the value that stands there, or an
// error that names the line.
func FuzzJSONL(f *testing.F) {
	type line struct {
		text string
		n    int64
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []line
		for i, s := range strings.Split(string(text), "\n") {
			if s = string(bytes.TrimSpace([]byte(strings.TrimPrefix(s, "\ufeff")))); s != "" {
				want = append(want, line{s, int64(i + 1)})
			}
		}
		i := 0
		for got, err := range node.JSONL[any](iotest.HalfReader(bytes.NewReader(text))) {
			require.Less(t, i, len(want))
			if err != nil {
				bad, ok := errors.AsType[*node.InputError](err)
				require.True(t, ok, "%T", err)
				require.Equal(t, want[i].n, bad.Line)
				require.False(t, utf8.ValidString(want[i].text) && json.Unmarshal([]byte(want[i].text), new(any)) == nil, "%v: %q", err, want[i].text)
			} else {
				require.True(t, utf8.ValidString(want[i].text), "%q became %v", want[i].text, got)
				var same any
				require.NoError(t, json.Unmarshal([]byte(want[i].text), &same))
				require.Equal(t, same, got)
			}
			i++
		}
		require.Len(t, want, i)
	})
}
