package presets_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func Example() {
	p, err := presets.OpenAITier1.ForModel("gpt-4o-mini")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Limits)
	fmt.Println(p.Date(), p.Confidence, p.Source.URL)
	// Output:
	// 500/min, 10000/day, 200000 tokens/min
	// 2026-09-24 high https://developers.openai.com/api/docs/models/gpt-4o-mini.md
}

func ExampleLookup() {
	tier, err := presets.Lookup("Groq/Free")
	fmt.Println(tier.Limits, err)

	_, err = presets.Lookup("groq/fere")
	var unknown *presets.UnknownError
	fmt.Println(errors.As(err, &unknown), err)
	// Output:
	// 30/min, 1000/day, 6000 tokens/min, 100000 tokens/day <nil>
	// true presets: unknown preset "groq/fere": did you mean groq/free?
}

func ExampleProfile_Scaled() {
	p, err := presets.OpenAITier1.Profile()
	if err != nil {
		panic(err)
	}
	p, err = p.Scaled(0.8) // the rest is for the chat window of a colleague
	fmt.Println(p.Limits, err)
	// Output: 400/min, 400000 tokens/min <nil>
}

func ExampleProfile_Stale() {
	p, err := presets.Lookup("github/authenticated/rest")
	if err != nil {
		panic(err)
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	fmt.Println(p.Date(), p.Estimated, p.Stale(now))
	// Output: 2025 true true
}

func ExampleParse() {
	ours, err := presets.Parse([]byte(`{
		"sources": {"console": {"title": "The limits page of our account", "url": ""}},
		"presets": [
			{"id": "openai/ours/gpt-5", "rpm": 900, "tpm": 450000, "source": "console", "as_of": "2026-11-20", "confidence": "high"}
		]
	}`))
	if err != nil {
		panic(err)
	}
	p, err := presets.Default().With(ours).Lookup("openai/ours/gpt-5")
	fmt.Println(p.Limits, p.Dialect, err)

	_, err = presets.Parse([]byte(`{"presets": [{"id": "openai/ours/gpt-5", "rmp": 900}]}`))
	if row, ok := errors.AsType[*presets.RowError](err); ok {
		fmt.Println(row)
	}
	// Output:
	// 900/min, 450000 tokens/min openai <nil>
	// presets: line 1:49: row 1 (openai/ours/gpt-5): rmp: unknown field: did you mean rpm?
}

func ExampleNew() {
	ours, err := presets.New(presets.Profile{
		ID:     "acme/gold",
		Limits: throttle.Limits{Concurrency: 4, Windows: []throttle.Window{throttle.Sliding(100, time.Minute)}},
	})
	if err != nil {
		panic(err)
	}
	p, err := presets.Default().With(ours).Lookup("acme/gold")
	fmt.Println(p.Limits, p.Dialect, err)
	// Output: 100/min, 4 concurrent auto <nil>
}
