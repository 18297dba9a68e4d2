package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// A value is durable when Put returns: also the names of the file, and of the directories that were made for it.
func TestDirSyncsNames(t *testing.T) {
	root := t.TempDir()
	d := Dir(filepath.Join(root, "runs"))
	at := filepath.Join(root, "runs", "run", "out")
	var synced []string
	sync := syncDir
	defer func() { syncDir = sync }()
	syncDir = func(name string) error {
		if name == at {
			_, err := os.Stat(filepath.Join(at, "0.json"))
			require.NoError(t, err, "it is synced before the file has its name")
		}
		synced = append(synced, name)
		return sync(name)
	}
	require.NoError(t, d.Put(t.Context(), "run/out/0", []byte("{}")))
	assert.ElementsMatch(t, []string{root, filepath.Join(root, "runs"), filepath.Join(root, "runs", "run"), at}, synced)
	synced = nil
	require.NoError(t, d.Put(t.Context(), "run/out/1", []byte("{}")))
	assert.Equal(t, []string{at}, synced)

	broken := errors.New("input/output error")
	syncDir = func(string) error { return broken }
	assert.ErrorIs(t, d.Put(t.Context(), "run/out/2", []byte("{}")), broken)
}

// A run that has succeeded is not reported as failed because its result cannot be deleted: it would be paid for twice.
func TestAResultThatCannotBeDeleted(t *testing.T) {
	s := undeletable{Dir(t.TempDir())}
	got, err := Run(t.Context(), succeeded{store: s}, batchOf(length), &list{A: 7}, Options{Store: s})
	require.NoError(t, err)
	assert.Equal(t, 7, got.A)
}

type undeletable struct{ Store }

func (undeletable) Delete(context.Context, string) error { return io.ErrClosedPipe }

// succeeded is a client of a server on which each run ends at once, with its state unchanged.
type succeeded struct {
	client.Client

	store Store
}

func (c succeeded) ExecuteWorkflow(ctx context.Context, _ client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	in, _ := args[0].(runInput)
	state, err := c.store.Get(ctx, in.State)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(kept{Run: in.Key, Input: in.Digest, State: state})
	if err != nil {
		return nil, err
	}
	return ended{}, c.store.Put(ctx, in.Keep, data)
}

type ended struct{ client.WorkflowRun }

func (ended) Get(context.Context, any) error { return nil }
