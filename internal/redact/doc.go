// Package redact takes secrets out of what is printed. What counts as one is every value of a request that can be: of a query, of
// userinfo, and of a header whose values are no words of the protocol.
package redact
