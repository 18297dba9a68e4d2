// Package signer tells a round tripper which account signs its requests below it.
package signer

import (
	"context"
	"net/http"
)

type key struct{}

// With says that sign will add the same credential to every request under ctx.
func With(ctx context.Context, sign func(*http.Request) error) context.Context {
	return context.WithValue(ctx, key{}, sign)
}

// Of returns what adds the credential of requests under ctx, or nil.
func Of(ctx context.Context) func(*http.Request) error {
	sign, _ := ctx.Value(key{}).(func(*http.Request) error)
	return sign
}
