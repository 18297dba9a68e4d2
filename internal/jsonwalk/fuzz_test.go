package jsonwalk_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// A cursor ends, whatever the text is, and finds in an object that is valid the
// members that encoding/json finds, in their order.
func FuzzCursor(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		var keys []string
		c := jsonwalk.At(text)
		c.Peek()
		for c.Open(); c.Next('}'); {
			keys = append(keys, string(c.Key()))
			c.Skip()
			require.LessOrEqual(t, len(keys), len(text)+1)
		}
		trimmed := bytes.TrimSpace(text)
		if !json.Valid(text) || trimmed[0] != '{' {
			return
		}
		var want []string
		d := json.NewDecoder(bytes.NewReader(text))
		_, err := d.Token()
		require.NoError(t, err)
		for d.More() {
			from := d.InputOffset()
			_, err := d.Token()
			require.NoError(t, err)
			key := bytes.TrimLeft(text[from:d.InputOffset()], " \t\r\n,{")
			want = append(want, string(key[1:len(key)-1]))
			var v json.RawMessage
			require.NoError(t, d.Decode(&v))
			if v[0] == '"' {
				found := jsonwalk.TextOf(text, want[len(want)-1])
				require.NotNil(t, found)
				require.True(t, json.Valid(append(append([]byte(`"`), found...), '"')), "%q", found)
			}
		}
		require.Equal(t, want, keys)
	})
}
