// Package presets has the documented rate limits of providers, by tier and model,
// each with source, date and confidence.
//
//	p, err := presets.OpenAITier1.ForModel("gpt-4o-mini")
//	...
//	fmt.Println(p.Limits, p.Date(), p.Source.URL)
//
// A guard with a preset (guard.Policy.Preset) starts at its limits, and moves up
// and down with the provider's headers and rate-limit responses. The limits of a
// preset that is Hard are never exceeded.
//
// The guide docs/presets.md lists the table, and shows how to refresh a number or
// add your own.
package presets

//go:generate go run ../internal/presetgen
