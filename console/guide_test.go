package console_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/console/htmlreport"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// The code of docs/console.md; internal/guide compares it.
//
//nolint:errcheck // a failing display does not stop the work
func _(ctx context.Context, f node.Node[string], state string) error {
	d, err := console.New(console.Config{})
	if err != nil {
		return err
	}
	defer d.Close()
	report, err := flow.Run(ctx, f, state, d.Watch())

	log := slog.New(slog.NewTextHandler(d.Writer(), nil))
	log.Info("done", "steps", report.Steps)
	return err
}

func _(ctx context.Context, f node.Node[string], state string, d *console.Display) error {
	report, err := flow.Run(ctx, f, state, d.Watch(), flow.WithSeries()) // there is a report with an error too
	var page bytes.Buffer
	err = errors.Join(err, htmlreport.Write(&page, "nightly digest", report))
	return err
}
