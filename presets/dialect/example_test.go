package dialect_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func ExampleName_Read() {
	h := http.Header{}
	h.Set("Retry-After-Ms", "1210")
	h.Set("X-Ratelimit-Limit-Tokens", "30000")
	h.Set("X-Ratelimit-Remaining-Tokens", "605")
	h.Set("X-Ratelimit-Reset-Tokens", "58.79s")
	body := []byte(`{"error": {"type": "tokens", "code": "rate_limit_exceeded"}}`)

	f := dialect.OpenAI.Read(time.Now(), 429, h, body)
	fmt.Println(f.Verdict, f.Kind, f.RetryAfter)
	fmt.Println(f.Meters[throttle.Tokens].Remaining, "of", f.Meters[throttle.Tokens].Limit)
	// Output:
	// hit tokens 1.21s
	// 605 of 30000
}

func ExampleName_Estimate() {
	body := []byte(`{"model": "m", "messages": [{"role": "user", "content": "What is a headrace?"}], "max_tokens": 200}`)

	fmt.Println(dialect.OpenAI.Estimate(nil, body).Of(throttle.Tokens))    // the larger of the two
	fmt.Println(dialect.Anthropic.Estimate(nil, body).Of(throttle.Tokens)) // both
	// Output:
	// 200
	// 205
}

func ExampleDetector() {
	judge := dialect.Detector(dialect.OpenAI)
	fmt.Println(judge(answered(429, "", `{"code": "insufficient_quota"}`)).Verdict)
	// Output: terminal
}

func ExampleByName() {
	_, err := dialect.ByName("opneai")
	fmt.Println(err)
	// Output: dialect: "opneai" is unknown: did you mean "openai" or "azure-openai"?
}

func ExampleByHost() {
	fmt.Println(dialect.ByHost("api.anthropic.com"), dialect.ByHost("llm.example.com:8443"))
	// Output: anthropic auto
}
