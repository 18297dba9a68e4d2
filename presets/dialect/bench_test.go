package dialect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/presets/dialect"
)

func success() known { return answers()[0] }

// One allocation is the answer itself, which the tables' functions get.
func TestReadOfASuccessAllocatesOnce(t *testing.T) {
	a := success()
	h, body := headerOf(a.header), []byte(a.body)
	for _, by := range []dialect.Name{dialect.OpenAI, dialect.Auto} {
		n := testing.AllocsPerRun(100, func() { by.Read(arrival(), 200, h, body) })
		assert.LessOrEqual(t, n, 1.0, "%s", by)
	}
}

func BenchmarkRead(b *testing.B) {
	a := success()
	h, body := headerOf(a.header), []byte(a.body)
	for _, by := range []dialect.Name{dialect.OpenAI, dialect.Auto} {
		b.Run(string(by), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				by.Read(arrival(), 200, h, body)
			}
		})
	}
	refusal := []byte(`{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29395, Requested 1210.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
	b.Run("refusal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dialect.OpenAI.Read(arrival(), 429, h, refusal)
		}
	})
	vectors := []byte(`{"data":[{"embedding":[` + strings.Repeat("-0.01234567,", 1<<16) + `0]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
	b.Run("embedding", func(b *testing.B) {
		b.SetBytes(int64(len(vectors)))
		for b.Loop() {
			dialect.OpenAI.Read(arrival(), 200, h, vectors)
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("many words ", 1000) + `"}],"max_tokens":500}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		dialect.OpenAI.Estimate(nil, body)
	}
}
