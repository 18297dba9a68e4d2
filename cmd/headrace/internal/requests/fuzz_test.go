package requests_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
)

// all is what a file of requests holds.
func all(t *testing.T, r io.Reader, f requests.Format) (found []requests.Request, ended error) {
	t.Helper()
	for q, err := range requests.Read(r, f) {
		require.NoError(t, ended, "an error is the end")
		if ended = err; err == nil {
			found = append(found, q)
		}
	}
	return found, ended
}

// Each line is a request that is sent as it stands there, or is bad for a reason
// that is given. None leads out of the base URL.
func FuzzRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, anthropic bool) {
		format := requests.OpenAI
		if anthropic {
			format = requests.Anthropic
		}
		found, ended := all(t, bytes.NewReader(text), format)
		slowly, alike := all(t, iotest.HalfReader(bytes.NewReader(text)), format)
		require.Equal(t, found, slowly)
		require.Equal(t, ended == nil, alike == nil)
		if ended != nil {
			bad, ok := errors.AsType[*requests.Error](ended)
			require.True(t, ok, "%T", ended)
			require.Positive(t, bad.Line)
			return
		}
		lines := strings.Split(strings.TrimPrefix(string(text), "\xef\xbb\xbf"), "\n")
		last := int64(0)
		for _, q := range found {
			require.Greater(t, q.Line, last)
			last = q.Line
			line := lines[q.Line-1]
			require.NotEmpty(t, q.ID)
			require.True(t, utf8.ValidString(q.ID), "%q", q.ID)
			if q.Bad != "" {
				require.True(t, utf8.ValidString(q.Bad), "%q", q.Bad)
				require.LessOrEqual(t, len(q.Bad), len(line)*4+200)
				continue
			}
			require.True(t, utf8.ValidString(line))
			require.LessOrEqual(t, len(q.ID), 512)
			var body map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(q.Body), &body), "%q", q.Body)
			require.Contains(t, line, q.Body)
			var whole map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(line), &whole))
			var id string
			require.NoError(t, json.Unmarshal(whole["custom_id"], &id))
			require.Equal(t, id, q.ID)
			below(t, q.URL)
			q.Model()
		}
	})
}

// below fails the test if a path climbs, as often as it is decoded.
func below(t *testing.T, text string) {
	t.Helper()
	p, _, _ := strings.Cut(text, "?")
	for range 5 {
		rest := strings.ReplaceAll(p, `\`, "/")
		if _, after, ok := strings.Cut(rest, "://"); ok {
			_, rest, _ = strings.Cut(after, "/")
		}
		require.True(t, strings.HasPrefix(path.Clean("/base/"+rest)+"/", "/base/"), "%q", text)
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == p {
			return
		}
		p = decoded
	}
}

// A file that is packed by gzip is read as the one that is not. One that is cut
// or damaged ends with an error.
func FuzzOpenPacked(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, cut uint16, at uint16, flip uint8) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(text)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		file := filepath.Join(t.TempDir(), "r.jsonl.gz")
		read := func(packed []byte) ([]requests.Request, error) {
			require.NoError(t, os.WriteFile(file, packed, 0o600))
			in, err := requests.Open(file, nil)
			if err != nil {
				return nil, err
			}
			defer func() { _ = in.Close() }() // which repeats the error of a damaged file
			return all(t, in, requests.OpenAI)
		}
		want, wantErr := all(t, bytes.NewReader(text), requests.OpenAI)
		got, gotErr := read(b.Bytes())
		require.Equal(t, want, got)
		require.Equal(t, wantErr == nil, gotErr == nil)

		if n := int(cut) % b.Len(); n > 0 {
			_, err = read(b.Bytes()[:b.Len()-n])
			require.Error(t, err)
		}
		damaged := bytes.Clone(b.Bytes())
		damaged[int(at)%len(damaged)] ^= flip
		if got, err := read(damaged); err == nil {
			require.Equal(t, want, got)
		}
	})
}
