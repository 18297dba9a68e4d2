package console_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// The code of docs/console.md; internal/guide compares it.
//
//nolint:errcheck // a display that fails stops nobody
func _(ctx context.Context, f node.Node[string], state string) error {
	d, err := console.New(os.Stderr)
	if err != nil {
		return err
	}
	defer d.Close()
	report, err := flow.Run(ctx, f, state, flow.WithProgress(d.Show, 0), flow.WithObserver(d))

	log := slog.New(slog.NewTextHandler(d.Writer(), nil))
	log.Info("done", "steps", report.Steps)
	return err
}
