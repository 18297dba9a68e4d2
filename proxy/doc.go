// Package proxy is a reverse proxy in front of rate-limited APIs. Clients in any
// language set its address as their base URL; requests wait until the provider
// allows them, and rate-limit responses are retried instead of returned.
//
// The first element of a path names the upstream: /openai/v1/chat/completions is
// sent to https://api.openai.com/v1/chat/completions. [Known] lists the names.
// Before it, /c/NAME names the client and /t/TOKEN is the [Config].Token, for
// clients that cannot send a header.
//
// Keys pass through and are not kept. The proxy answers by itself only with the
// header X-Headrace-Error, which has a [Code] as its value, and a body in the shape of
// the provider's own errors.
package proxy
