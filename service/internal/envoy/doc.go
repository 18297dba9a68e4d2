// Package envoy answers Envoy's rate limit service, envoy.service.ratelimit.v3, from a
// quota.Store. It reads the YAML of envoyproxy/ratelimit and lists what it does
// otherwise.
//
// All descriptors of a request are enforced in one step of the store, and windows are
// exact over every trailing interval. The guide is docs/envoy.md.
package envoy
