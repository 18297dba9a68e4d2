// Package dialect reads rate limits from the responses of providers, and estimates
// what a request will be charged.
//
// Providers differ in header fields, error codes and time formats. A [Dialect]
// turns a response into an adaptive.Feedback: was it a rate-limit response, is the
// service overloaded, or is the quota used up; which limit was hit; how long to
// wait; and what is left of each limit.
//
//	f := dialect.OpenAI.Read(time.Now(), resp.StatusCode, resp.Header, body)
//
// A guard takes a dialect, or has that of its preset:
//
//	openai, err := guard.New(guard.Policy{Name: "openai", Dialect: dialect.OpenAI})
//
// The guide docs/dialects.md explains the verdicts, how the wait and the meters are
// read, and how to write a dialect.
package dialect
