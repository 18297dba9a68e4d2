package proxy

import "net/http"

// Code says why the proxy answered by itself. It is the value of the header
// X-Headrace-Error.
type Code string

// The codes, and the statuses that they come with.
const (
	CodePath        Code = "headrace_bad_path"             // 400: the target cannot be passed on
	CodeClient      Code = "headrace_bad_client"           // 400: the name, priority or idempotency key of the client is invalid
	CodeBody        Code = "headrace_bad_body"             // 400: the body did not arrive
	CodeCost        Code = "headrace_never_fits"           // 400: the request is larger than a limit
	CodeToken       Code = "headrace_token_required"       // 401
	CodeHost        Code = "headrace_host_refused"         // 403
	CodeOrigin      Code = "headrace_origin_refused"       // 403
	CodeUpstream    Code = "headrace_unknown_upstream"     // 404
	CodeSlow        Code = "headrace_body_too_slow"        // 408
	CodeQuota       Code = "headrace_quota_exhausted"      // 429: the quota or the credit of the credential is used up
	CodeLimited     Code = "headrace_rate_limited"         // 429: the provider asks for a longer wait than is waited for
	CodeInternal    Code = "headrace_internal"             // 500
	CodeUnreachable Code = "headrace_upstream_unreachable" // 502: there was no answer
	CodeQueueFull   Code = "headrace_queue_full"           // 503
	CodeWait        Code = "headrace_wait_exceeded"        // 503
	CodeDraining    Code = "headrace_draining"             // 503
	CodeBreaker     Code = "headrace_breaker_open"         // 503
	CodeStore       Code = "headrace_store_unavailable"    // 503: the store of shared limits does not answer
	CodeTimeout     Code = "headrace_upstream_timeout"     // 504: the answer did not begin in time
)

// status is what a client does with the answer: SDKs send a 408, 429 or 5xx again.
func (c Code) status() int {
	switch c {
	case CodePath, CodeClient, CodeBody, CodeCost:
		return http.StatusBadRequest
	case CodeToken:
		return http.StatusUnauthorized
	case CodeHost, CodeOrigin:
		return http.StatusForbidden
	case CodeUpstream:
		return http.StatusNotFound
	case CodeSlow:
		return http.StatusRequestTimeout
	case CodeQuota, CodeLimited:
		return http.StatusTooManyRequests
	case CodeUnreachable:
		return http.StatusBadGateway
	case CodeQueueFull, CodeWait, CodeDraining, CodeBreaker, CodeStore:
		return http.StatusServiceUnavailable
	case CodeTimeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
