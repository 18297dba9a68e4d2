// Package registry keeps named limiters, so that all who draw on one quota
// share one limiter without passing it around.
//
// A name stands for one quota: "openai", or "openai/eu.api.openai.com" for one
// host of a service. Names are trimmed and case does not matter, because two
// spellings of one name would be two limiters, and twice the quota. A limiter is
// made when it is asked for, once, and is an ordinary *guard.Guard with the
// name as its Name:
//
//	reg, err := registry.New(registry.Config{
//		Default:  registry.Spec{Limits: perSecond(2)},
//		Services: map[string]registry.Service{"openai": {Spec: registry.Spec{Preset: presets.OpenAITier1}}},
//	})
//	...
//	reg.Get("openai")                          // the one limiter of openai
//	reg.For("openai", "api.openai.com")        // the same: openai has no entry for this host
//	reg.For("ols", "www.ebi.ac.uk")            // one of its own, made of Default
//
// The configuration can be a struct, JSON (ParseJSON), the text "ols: 4/s;
// bioportal: 2/s, 100/min" (Parse) or, with the module config, YAML. Limits change in
// place: Replace drops nobody who waits.
package registry
