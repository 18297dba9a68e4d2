package headrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// scanned is what a scan finds in a body that arrives in pieces of size bytes.
func scanned(body []byte, stream, whole bool, size int) string {
	s := newScan(stream)
	for rest := body; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		s.write(rest[:min(size, len(rest))])
	}
	return string(s.told(whole))
}

// Pieces of any size yield the same result. The result is bounded, and no
// dialect reads a negative or an unbounded usage in it.
func FuzzScan(f *testing.F) {
	files, err := filepath.Glob("presets/dialect/testdata/streams/*.txt")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text, true, uint8(6))
	}
	names := dialect.Names()
	f.Fuzz(func(t *testing.T, body []byte, stream bool, size uint8) {
		for _, whole := range []bool{true, false} {
			told := scanned(body, stream, whole, len(body)+1)
			require.Equal(t, told, scanned(body, stream, whole, int(size)+1))
			require.LessOrEqual(t, len(told), 8*mostKept)
			if !stream && json.Valid(body) {
				for line := range strings.Lines(told) {
					if data, ok := strings.CutPrefix(line, "data: "); ok {
						require.True(t, json.Valid([]byte(data)), "%q", data)
					}
				}
			}
			for _, n := range names {
				f := n.Read(time.Unix(1_800_000_000, 0), http.StatusOK, http.Header{}, []byte(told))
				require.GreaterOrEqual(t, f.RetryAfter, time.Duration(0))
				for _, n := range []int64{f.Used.Requests, f.Used.Tokens, f.Used.Input, f.Used.Output, f.Used.Points} {
					require.GreaterOrEqual(t, n, int64(0))
					require.LessOrEqual(t, n, int64(throttle.MaxAmount))
				}
				require.NotEqual(t, adaptive.Unclassified, f.Verdict)
			}
		}
	})
}

// What is found behind the head of a long request is bounded, is the same
// whatever the size of the pieces, and is put before the head as members of
// the same object.
func FuzzTail(f *testing.F) {
	f.Fuzz(func(t *testing.T, head, rest []byte, size uint8) {
		join := func(size int) string {
			tail := newTail()
			tail.walker.Feed(head)
			tail.behind = true
			for rest := rest; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				tail.walker.Feed(rest[:min(size, len(rest))])
			}
			return string(tail.join(bytes.NewBuffer(bytes.Clone(head))))
		}
		joined := join(len(rest) + 1)
		require.Equal(t, joined, join(int(size)+1))
		require.LessOrEqual(t, len(joined), len(head)+mostTail+2)
		whole := append(bytes.Clone(head), rest...)
		if trimmed := bytes.TrimSpace(whole); json.Valid(whole) && trimmed[0] == '{' {
			found, want := string(modelOf("", []byte(joined))), []string{string(modelOf("", nil))}
			for text := string(whole); text != ""; { // each member "model", since the name may be repeated
				at := strings.Index(text, `"model"`)
				if at < 0 {
					break
				}
				text = text[at+len(`"model"`):]
				want = append(want, string(modelOf("", []byte(`{"model"`+text))))
			}
			require.Contains(t, want, found)
		}
	})
}

// As much as is intact of a compressed body is read, up to a bound.
func FuzzGzip(f *testing.F) {
	pack := func(text []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(text)
		_ = z.Close()
		return b.Bytes()
	}
	bomb := pack(bytes.Repeat([]byte(" "), 8<<20))
	f.Add(bomb[:min(len(bomb), 12<<10)], uint16(0), uint8(0))
	packed := http.Header{"Content-Encoding": {"gzip"}}
	f.Fuzz(func(t *testing.T, body []byte, at uint16, flip uint8) {
		require.LessOrEqual(t, len(text(packed, body)), mostAnswer)
		whole := pack(body)
		require.Equal(t, string(body), string(text(packed, whole)))
		whole[int(at)%len(whole)] ^= flip
		require.LessOrEqual(t, len(text(packed, whole)), mostAnswer)
		got := text(packed, pack(body)[:int(at)%len(whole)])
		require.True(t, bytes.HasPrefix(body, got), "%q", got)
	})
}
