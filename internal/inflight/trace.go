package inflight

import (
	"context"
	"net/http/httptrace"
)

// IsTrace reports whether key is the one under which net/http/httptrace looks up hooks
// in a context: one that has the hooks itself costs less than WithClientTrace.
func IsTrace(key any) bool { return key == traceKey }

// traceKey is what httptrace looks up in a context: the only value that it asks for.
//
//nolint:gochecknoglobals // it never changes
var traceKey = func() any {
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
