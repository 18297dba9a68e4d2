// Package registry keeps guards by name, so that all callers that share a quota
// share one guard.
//
// A name stands for one quota. Space around it and case do not matter. A guard with
// slashes in its name is within the guards of the names before each slash. A last part "*"
// is a template:
//
//	config, err := registry.Parse("openai: 500/min; crawl: 20/s; crawl/*: bucket 2/s burst 5; users/*: 5/s")
//	...
//	reg, err := registry.New(config)
//	...
//	reg.Get("openai")                 // the guard of openai
//	reg.For("openai", "eu")           // the same, because "openai/eu" is not configured
//	reg.For("crawl", "example.org")   // a guard made from "crawl/*", within "crawl"
//
// A configuration is a struct, JSON (ParseJSON), text (Parse) or YAML (package
// config). The guide is docs/registry.md.
package registry
