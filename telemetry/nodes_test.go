package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/telemetry"
)

func TestNodes(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	tell := func(kind event.Kind, name string, err error) []string {
		e := event.New(time.Now(), kind, name)
		e.Wait, e.Err = 2*time.Second, err
		o.Observe(e)
		return r.taken()
	}
	for _, c := range []struct {
		kind event.Kind
		name string
		err  error
		want []string
	}{
		{event.FlowFinished, "f", nil, []string{"headrace.flow.duration=2 headrace.flow.name=f"}},
		{event.FlowFinished, "g", nil, []string{"headrace.flow.duration=2 headrace.flow.name=_OTHER"}},
		{event.NodeFinished, "n", context.Canceled, []string{"headrace.node.duration=2 error.type=canceled headrace.node.name=n"}},
		{event.NodeFinished, "m", nil, []string{"headrace.node.duration=2 headrace.node.name=_OTHER"}},
		{event.ItemDone, "n", nil, []string{
			"headrace.node.item.duration=2 headrace.item.outcome=done headrace.node.name=n",
			"headrace.node.items=1 headrace.item.outcome=done headrace.node.name=n",
		}},
		{event.ItemFailed, "n", io.EOF, []string{
			"headrace.node.item.duration=2 error.type=*errors.errorString headrace.item.outcome=failed headrace.node.name=n",
			"headrace.node.items=1 error.type=*errors.errorString headrace.item.outcome=failed headrace.node.name=n",
		}},
		{event.ItemFailed, "n", &around{&fs.PathError{Op: "open", Err: io.EOF}}, []string{
			"headrace.node.item.duration=2 error.type=*fs.PathError headrace.item.outcome=failed headrace.node.name=n",
			"headrace.node.items=1 error.type=*fs.PathError headrace.item.outcome=failed headrace.node.name=n",
		}},
		{event.ItemAbandoned, "n", nil, []string{
			"headrace.node.item.duration=2 headrace.item.outcome=abandoned headrace.node.name=n",
			"headrace.node.items=1 headrace.item.outcome=abandoned headrace.node.name=n",
		}},
		{event.ItemResumed, "n", nil, []string{"headrace.node.items=1 headrace.item.outcome=resumed headrace.node.name=n"}},
		{event.ItemRetry, "n", nil, []string{"headrace.node.retries=1 headrace.node.name=n"}},
	} {
		assert.Equal(t, c.want, tell(c.kind, c.name, c.err), "%s %s", c.kind, c.name)
	}
}

// around is an error of a type that says nothing.
type around struct{ error }

func (a *around) Unwrap() error { return a.error }

func TestCalls(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	o.ObserveCall(event.Call{Limiter: "l", Queued: time.Second, Took: 3 * time.Second, Outcome: "hit"})
	o.ObserveCall(event.Call{Limiter: "m", Queued: time.Minute, Outcome: event.Unadmitted})
	assert.Equal(t, []string{
		"headrace.limiter.call.duration=3 headrace.limiter.name=l headrace.limiter.outcome=hit",
		"headrace.limiter.wait=1 headrace.limiter.name=l headrace.limiter.outcome=hit",
		"headrace.limiter.wait=60 headrace.limiter.name=_OTHER headrace.limiter.outcome=unadmitted",
	}, r.taken())
}

type brokenError struct{}

func (brokenError) Error() string { panic("error") }

func (brokenError) Is(error) bool { panic("error") }

func TestTypesOfFailures(t *testing.T) {
	for want, err := range map[string]error{
		"canceled":            fmt.Errorf("around: %w", context.Canceled),
		"timeout":             errors.Join(io.EOF, context.DeadlineExceeded),
		"rate_limited":        fmt.Errorf("around: %w", &adaptive.RateLimitHit{}),
		"theirs":              &typedError{"theirs"},
		"*errors.errorString": fmt.Errorf("a secret: %w", fmt.Errorf("around: %w", io.EOF)),
		"*errors.joinError":   errors.Join(io.EOF, io.EOF),
		"_OTHER":              brokenError{},
	} {
		r, o := record(t, telemetry.Config{})
		e := event.New(time.Now(), event.NodeFinished, "n")
		e.Err = err
		o.Observe(e)
		got, _ := attributeOf(r.taken()[0], "error.type")
		assert.Equal(t, want, got)
	}
}
