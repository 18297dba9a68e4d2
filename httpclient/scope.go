package httpclient

import (
	"context"

	"github.com/headrace/headrace/internal/clienttrace"
)

type (
	callKey    struct{}
	attemptKey struct{}
)

// scope is the context of a call or of an attempt. One type holds the values of both and passes everything else on, so that
// package context recognises the parent and starts no goroutine to watch it.
type scope struct {
	context.Context //nolint:containedctx // it is one

	call    *call
	attempt *attempt // nil for that of a call
}

func (s *scope) Value(key any) any {
	switch key.(type) {
	case callKey:
		return s.call
	case attemptKey:
		if s.attempt != nil {
			return s.attempt
		}
	default:
		if s.attempt != nil && clienttrace.Is(key) {
			return &s.attempt.trace
		}
	}
	return s.Context.Value(key)
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}
