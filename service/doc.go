// Package service is a rate-limit service: programs in any language share limits
// through REST and gRPC, and Envoy through its own protocol. The limits are kept in a
// quota.Store. They come from a YAML file that is reloaded when it changes.
//
// The guide is docs/service.md. Package service imports no store: a program passes
// Config.Open, as `headrace serve` does.
package service
