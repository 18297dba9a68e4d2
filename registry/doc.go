// Package registry keeps guards by name, so that all callers that draw on one
// quota share one guard without passing it around.
//
// A name stands for one quota. Names are trimmed and case does not matter,
// because two spellings of one name would be two guards, and twice the quota. A
// name with slashes is within the names before each slash, and a last part "*"
// is a template:
//
//	config, err := registry.Parse("openai: 500/min; crawl: 20/s; crawl/*: bucket 2/s burst 5; users/*: 5/s")
//	...
//	reg, err := registry.New(config)
//	...
//	reg.Get("openai")                 // the one guard of openai
//	reg.For("openai", "eu")           // the same: no name says anything else about "openai/eu"
//	reg.For("crawl", "example.org")   // one of its own, made from "crawl/*", within "crawl"
//
// The configuration can be a struct, JSON (ParseJSON), text (Parse) or, with the
// module config, YAML. Replace changes limits in place.
package registry
