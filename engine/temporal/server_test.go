package temporal_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/engine/temporal"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/internal/temporalserver"
	"github.com/headrace/headrace/node"
)

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}

// served is a client of a server that ends with the test, and the options for its namespace.
func served(t *testing.T) (client.Client, temporal.Options) {
	t.Helper()
	s := started(t)
	return dialed(t, s, quiet{}), temporal.Options{Namespace: s.Namespace, Store: temporal.Dir(t.TempDir())}
}

func started(t *testing.T) *temporalserver.Server {
	t.Helper()
	if !*server {
		t.Skip("it needs a server: make test-engines")
	}
	s, err := temporalserver.Start(context.WithoutCancel(t.Context()), t.Output())
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func dialed(t *testing.T, s *temporalserver.Server, l log.Logger) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address, Namespace: s.Namespace, Logger: l, Identity: "test"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func working(t *testing.T, c client.Client, o temporal.Options, flows ...any) {
	t.Helper()
	w, err := temporal.NewWorker(c, o, flows...)
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// histories returns all histories of the namespace.
func histories(t *testing.T, c client.Client, namespace string) (all []*history.History) {
	t.Helper()
	var list *workflowservice.ListWorkflowExecutionsResponse
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		var err error
		list, err = c.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1000})
		assert.NoError(t, err)
		assert.NotEmpty(t, list.GetExecutions())
		for _, e := range list.GetExecutions() {
			assert.NotEqual(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, e.GetStatus())
		}
	}, 20*time.Second, 200*time.Millisecond)
	for _, e := range list.GetExecutions() {
		h := &history.History{}
		events := c.GetWorkflowHistory(t.Context(), e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, event)
		}
		all = append(all, h)
	}
	return all
}

// The same flow has equal results in one process and on a server, and its histories replay.
func TestServerRunsAFlowAsOneProcessDoes(t *testing.T) {
	c, o := served(t)
	want := names()
	_, err := flow.Run(t.Context(), libraries(&provider{}), want)
	require.NoError(t, err)

	p := &provider{}
	working(t, c, o, libraries(p))
	got, err := temporal.Run(t.Context(), c, libraries(nil), names(), o)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Positive(t, p.rejected.Load())
	assert.Positive(t, p.failed.Load())

	all := histories(t, c, o.Namespace)
	for _, h := range all {
		replayer := worker.NewWorkflowReplayer()
		require.NoError(t, temporal.RegisterWorkflows(replayer, o, libraries(nil)))
		require.NoError(t, replayer.ReplayWorkflowHistory(quiet{}, h))
	}
	t.Log(len(all), "histories replayed")
	if *record {
		require.NoError(t, os.MkdirAll(recorded, 0o750))
		for i, h := range all {
			text, err := protojson.Marshal(h)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(fmt.Sprintf("%s/%02d.json", recorded, i), text, 0o600))
		}
	}
}

const recorded = "testdata/histories"

// Histories that an earlier version has recorded replay: a change that breaks runs in progress is seen.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob(recorded + "/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			require.NoError(t, temporal.RegisterWorkflows(replayer, temporal.Options{}, libraries(nil)))
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet{}, file))
		})
	}
}

// histories that are taken for those of the given flow: they have its fingerprint.
func takenFor(t *testing.T, f *flow.Flow[*library]) map[string]*history.History {
	t.Helper()
	fingerprint := func(f *flow.Flow[*library]) []byte {
		p, err := engine.New(f)
		require.NoError(t, err)
		return []byte(p.Fingerprint())
	}
	files, err := filepath.Glob(recorded + "/*.json")
	require.NoError(t, err)
	all := map[string]*history.History{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		h := &history.History{}
		require.NoError(t, protojson.Unmarshal(text, h))
		begun := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
		for _, p := range begun.GetInput().GetPayloads() {
			p.Data = bytes.ReplaceAll(p.GetData(), fingerprint(libraries(nil)), fingerprint(f))
		}
		all[filepath.Base(file)+" "+begun.GetWorkflowType().GetName()] = h
	}
	return all
}

func replayed(t *testing.T, h *history.History, f *flow.Flow[*library]) error {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	require.NoError(t, temporal.RegisterWorkflows(replayer, temporal.Options{}, f))
	return replayer.ReplayWorkflowHistory(quiet{}, h)
}

// Commands are compared: with the fingerprint of another flow in them, the histories of what has changed do not replay, and
// the others do. So the tests above can fail.
func TestAnotherFlowDoesNotReplay(t *testing.T) {
	more := libraries(nil).Then(node.Do("more", func(context.Context, *library) error { return nil }))
	failed := 0
	for name, h := range takenFor(t, more) {
		root := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetParentWorkflowExecution() == nil
		err := replayed(t, h, more)
		if !root {
			require.NoError(t, err, name)
			continue
		}
		failed++
		require.ErrorContains(t, err, "nondeterministic", name)
	}
	assert.Equal(t, 1, failed)
}

// A worker that has another version of the flow fails the task of each workflow, and names both versions.
func TestAnotherVersionDoesNotReplay(t *testing.T) {
	other := libraries(nil).WithMaxSteps(7)
	for name, h := range takenFor(t, libraries(nil)) {
		require.ErrorContains(t, replayed(t, h, other), engine.ErrDiffers.Error(), name)
	}
}

// A failed step has the text that it has in one process.
func TestServerReportsAFailure(t *testing.T) {
	c, o := served(t)
	broken := func() *flow.Flow[*library] {
		return flow.New("outer", node.Do("first", func(context.Context, *library) error { return nil })).
			Then(flow.New("inner", node.Do("boom", func(context.Context, *library) error { return io.ErrUnexpectedEOF })))
	}
	_, want := flow.Run(t.Context(), broken(), names())
	working(t, c, o, broken())
	_, err := temporal.Run(t.Context(), c, broken(), names(), o)
	var got *engine.RemoteError
	require.ErrorAs(t, err, &got)
	assert.EqualError(t, err, want.Error())
}
