package clienttrace_test

import (
	"context"
	"net/http/httptrace"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/clienttrace"
)

type holder struct {
	context.Context //nolint:containedctx // it is a context

	hooks httptrace.ClientTrace
}

func (h *holder) Value(key any) any {
	if clienttrace.Is(key) {
		return &h.hooks
	}
	return h.Context.Value(key)
}

// httptrace finds the hooks of a context that holds them itself.
func TestIs(t *testing.T) {
	h := &holder{Context: t.Context()}
	assert.Same(t, &h.hooks, httptrace.ContextClientTrace(h))
	assert.False(t, clienttrace.Is(nil))
	assert.False(t, clienttrace.Is("key"))
}
