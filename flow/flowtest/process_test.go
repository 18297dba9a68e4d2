package flowtest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

// overtaken is a journal whose process is killed while a result is on its way to it.
type overtaken struct {
	journal.Journal

	kill func()
}

func (o *overtaken) Finish(
	ctx context.Context, p journal.Part, owner journal.Owner, mark string, records ...journal.Record,
) ([]journal.Record, error) {
	o.kill()
	return o.Journal.Finish(ctx, p, owner, mark, records...)
}

func TestAProcessIsKilledInsideItsJournal(t *testing.T) {
	rec := flowtest.New(t)
	kept := &overtaken{Journal: journal.NewMemory()}
	process := rec.NewProcess(kept)
	kept.kill = process.Kill
	api := rec.NewProvider("api")
	_, err := node.Map("ask", api.Call).WithJournal(process.Journal()).All(process.Context(), []string{"a"})
	require.ErrorIs(t, err, flowtest.ErrKilled)
}
