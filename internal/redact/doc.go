// Package redact takes secrets out of what is printed. What counts as one is every value of a request that can be: of a query, of
// userinfo, and of a header with values that are not words of the protocol.
package redact
