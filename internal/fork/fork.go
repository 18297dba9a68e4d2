// Package fork stops nodes that run at the same time in two stages: first they
// begin nothing new, and after a grace period their context ends.
package fork

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Grace is how long running nodes may continue after Stop. It is the default of
// node.Batch.WithGrace.
const Grace = 10 * time.Second

// Fork is the run of several nodes. Its methods are safe for concurrent use.
type Fork struct {
	// Context is for the nodes. It ends with the context given to New, and
	// Grace after Stop.
	Context context.Context //nolint:containedctx // it is handed to the nodes
	Intake  *Intake

	kill context.CancelCauseFunc // ends Context
	stop context.CancelCauseFunc // ends Intake
	undo func() bool

	mu    sync.Mutex // guards timer
	timer *time.Timer
}

// Intake is the intake of a fork: its end stops new work of the nodes.
type Intake struct {
	context.Context //nolint:containedctx // it is a context

	// Outermost is set if the fork is not inside an item of a batch. Then a batch
	// inside the fork is a run of its own, as it is outside of forks: it ends its
	// items after its own grace period and not with the context it is given.
	Outermost bool
}

// StoppedError is the reason for stopping the nodes of a fork when one of them
// has failed.
type StoppedError struct{ Fork, Node string }

// Error names the node that failed.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("flow %q: stopped because node %q failed", e.Fork, e.Node)
}

// New starts a fork under ctx. around is the intake of ctx, or ctx itself if
// nested is false. Call End when no node is left.
func New(ctx, around context.Context, nested bool) *Fork {
	f := &Fork{}
	f.Context, f.kill = context.WithCancelCause(ctx)
	in, stop := context.WithCancelCause(around)
	outer, inFork := around.(*Intake)
	f.Intake, f.stop = &Intake{in, !nested || inFork && outer.Outermost}, stop
	f.undo = context.AfterFunc(f.Context, func() { stop(context.Cause(f.Context)) }) //nolint:contextcheck // it inherits from ctx, which around may outlive
	return f
}

// Stop ends the intake because of cause, and after Grace the context. Only the
// first call has an effect.
func (f *Fork) Stop(cause error) {
	f.stop(cause)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		f.timer = time.AfterFunc(Grace, func() { f.kill(cause) })
	}
}

// Killed reports whether the nodes' context was ended by Stop.
func (f *Fork) Killed() bool {
	_, stopped := context.Cause(f.Context).(*StoppedError) //nolint:errorlint // the cause itself
	return stopped
}

// End releases what the fork holds.
func (f *Fork) End() {
	f.undo()
	f.mu.Lock()
	if f.timer != nil {
		f.timer.Stop()
	}
	f.mu.Unlock()
	f.kill(context.Canceled)
	f.stop(context.Canceled)
}

// Stopped returns why the nodes of the fork begin nothing new if one of them has
// failed, or one of a fork around it; otherwise nil. The end of a run around the
// fork is not a reason: an item of a batch may finish all of its steps.
func (in *Intake) Stopped() error {
	if e, ok := context.Cause(in).(*StoppedError); ok { //nolint:errorlint // the cause itself
		return e
	}
	return nil
}
