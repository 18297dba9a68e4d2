// Package presets holds what providers allow: rate limits by provider, tier
// and model, each with its source, its date and how far it can be trusted.
//
//	p, err := presets.OpenAITier1.Profile()
//	...
//	lim, err := adaptive.New(p.Config())
//
// Numbers move. A preset is where a limiter starts: what the provider's headers
// and refusals tell moves it both ways. A preset marked Hard is a rule to keep
// instead, and becomes a cap. Profile.WarnStale says once when one is too old.
//
// The table is facts.json, which a person can refresh: edit a row with its
// source and date, then run go generate ./presets, which writes the constants
// and docs/presets.md. The same reader takes a user's own file: Parse, and With
// to lay it over the table that comes along.
package presets

//go:generate go run ../internal/presetgen
