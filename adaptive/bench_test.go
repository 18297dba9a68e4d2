package adaptive_test

import (
	"testing"

	"github.com/headrace/headrace/adaptive"
)

func BenchmarkClassify(b *testing.B) {
	err := &sdkError{StatusCode: 429, Type: "requests", Response: answered(429, "Retry-After", "7").Response}
	b.ReportAllocs()
	for b.Loop() {
		adaptive.Classify(nil, err)
	}
}
