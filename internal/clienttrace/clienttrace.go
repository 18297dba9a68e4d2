// Package clienttrace lets a context carry httptrace hooks itself. httptrace.WithClientTrace costs more: it composes
// hooks by reflection.
package clienttrace

import (
	"context"
	"net/http/httptrace"
)

// Is reports whether key is the one under which net/http/httptrace looks up hooks in a context.
// The DNS and connect hooks are not found this way: package net looks up another key.
func Is(key any) bool { return key == wanted }

// wanted is the key that httptrace.ContextClientTrace looks up, which is not exported.
//
//nolint:gochecknoglobals // it never changes
var wanted = func() any {
	asked := &lookup{Context: context.Background()}
	httptrace.ContextClientTrace(asked)
	return asked.key
}()

// lookup is a context that notes what is looked up in it.
type lookup struct {
	context.Context //nolint:containedctx // it is a context

	key any
}

func (l *lookup) Value(key any) any {
	l.key = key
	return nil
}
