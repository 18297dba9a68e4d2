// Package sdks tests that the Go SDKs of Azure, OpenAI, Anthropic, Google and
// AWS, and go-retryablehttp, work under headrace.Transport.
package sdks
