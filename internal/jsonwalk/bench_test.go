package jsonwalk_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// BenchmarkWalker is what it costs to look for one member, in pieces of 32 KiB as net/http has them.
func BenchmarkWalker(b *testing.B) {
	for name, body := range map[string]string{
		"chat":    `{"choices":[{"message":{"role":"assistant","content":"` + strings.Repeat("a word and \\\"another\\\",\\n", 2000) + `"}}],"usage":{"total_tokens":5}}`,
		"image":   `{"data":[{"b64_json":"` + strings.Repeat("A", 1<<20) + `"}],"usage":{"total_tokens":5}}`,
		"vectors": `{"data":[{"embedding":[` + strings.Repeat("-0.0123456789,", 20000) + `0]}],"usage":{"total_tokens":5}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			text := []byte(body)
			v := &byPath{}
			w := jsonwalk.Walker{Visitor: v, Max: 4096}
			for b.Loop() {
				v.found = nil
				w.Reset()
				for rest := text; len(rest) > 0; {
					n := min(32<<10, len(rest))
					w.Feed(rest[:n])
					rest = rest[n:]
				}
			}
		})
	}
}
