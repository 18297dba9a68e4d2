// Package presets holds what providers allow: rate limits by provider, tier
// and model, each with its source, its date and how far it can be trusted.
//
//	p, err := presets.OpenAITier1.Profile()
//	...
//	fmt.Println(p.Limits, p.Date(), p.Source.URL)
//
// Numbers move. A guard with a preset (guard.Policy.Preset) starts at its limits
// and moves both ways with what the provider's headers and rate-limit responses
// show. A preset that is Hard is a rule instead, and its limits are hard caps.
// Profile.Stale reports one that is too old.
//
// The table is facts.json, which a person can refresh: edit a row with its
// source and date, then run go generate ./presets, which writes the constants
// and docs/presets.md. The same reader takes a user's own file: Parse, and With
// to lay it over the table that comes along.
package presets

//go:generate go run ../internal/presetgen
