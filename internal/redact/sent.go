package redact

import (
	"context"
	"net/http"
)

type sentKey struct{}

// Collecting returns a context in which Sent gives credentials to f. It may be
// called by several goroutines.
func Collecting(ctx context.Context, f func(value string)) context.Context {
	return context.WithValue(ctx, sentKey{}, f)
}

// Sent says that a request under ctx is sent with this credential, so that what
// keeps the response can leave it out.
func Sent(ctx context.Context, value string) {
	if f, ok := ctx.Value(sentKey{}).(func(string)); ok {
		f(value)
	}
}

// Credentials returns the spellings of what was sent with requests, the longest first.
func Credentials(values []string) []string {
	return Secrets(&http.Request{Header: http.Header{"Authorization": values}})
}
