// Package clienttrace lets a context hold the hooks of net/http/httptrace itself, which costs less than
// httptrace.WithClientTrace: that combines them with others by reflection.
package clienttrace

import (
	"context"
	"net/http/httptrace"
)

// Is reports whether key is the one under which net/http/httptrace looks up hooks in a context.
func Is(key any) bool { return key == wanted }

// wanted is what httptrace looks up in a context: the only value that it asks for.
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
