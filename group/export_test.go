package group

import (
	"context"
	"testing"
	"time"
)

// ByItself returns a group in which this process admits its own calls, over a
// connection in memory, so that it can run in virtual time.
func ByItself(t *testing.T) *Group {
	t.Helper()
	g := &Group{linked: make(chan struct{})}
	g.ctx, g.end = context.WithCancelCause(context.Background())
	g.standing.Store(&Stats{Role: Joining, Since: time.Now()})
	s := g.goAlone("a test")
	t.Cleanup(func() { g.end(ErrClosed); s.close(); g.wg.Wait() })
	return g
}
