package headrace

import (
	"strings"
	"testing"
)

// BenchmarkScan is what it costs to look for the usage in what passes by.
func BenchmarkScan(b *testing.B) {
	event := "event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"word "}` + "\n\n"
	for name, c := range map[string]struct {
		stream bool
		text   string
	}{
		"stream":   {true, strings.Repeat(event, 1000) + "data: " + `{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":1000}}}` + "\n\n"},
		"document": {false, `{"data":[{"embedding":[` + strings.Repeat("-0.0123456789,", 20000) + `0]}],"usage":{"total_tokens":5}}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s := newScan(c.stream)
				for rest := text; len(rest) > 0; {
					n := min(4<<10, len(rest))
					s.write(rest[:n])
					rest = rest[n:]
				}
				if len(s.told(true)) == 0 {
					b.Fatal("nothing was found")
				}
			}
		})
	}
}
